// SPDX-License-Identifier: Apache-2.0
#include "host/plugin_host.h"

#include <algorithm>
#include <set>
#include <system_error>

#include <fmt/core.h>

#include "host/elf_note.h"
#include "host/plugin_library.h"
#include "host/process_state.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string schema_objection(const ManifestItem& item, const std::exception& bad) {
  return fmt::format("its trivet note is damaged: the schema of the {} '{}': {}", item.kind,
                     item.key, bad.what());
}

PluginHost::PluginHost(std::vector<SearchDirectory> directories, Registry& into)
    : directories_(std::move(directories)), registry_(into) {
  for (const SearchDirectory& directory : directories_) scan(directory);
  registry_.set_loader(this);
}

PluginHost::~PluginHost() {
  PluginLoader* const current = registry_.set_loader(nullptr);
  if (current != this) registry_.set_loader(current);
}

void PluginHost::scan(const SearchDirectory& directory) {
  if (!directory.exists || !directory.error.empty()) return;
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(directory.path, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".so") found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& file : found) look_at(file, directory.shipped);
}

void PluginHost::look_at(const fs::path& path, bool shipped) {
  PluginFile file{.path = path};
  file.shipped = shipped;
  const auto refuse = [&](std::string reason) {
    file.state = PluginState::refused;
    file.reason = std::move(reason);
    files_.push_back(std::move(file));
  };
  const CheckedFile checked = open_checked(path);
  if (!checked.error.empty()) return refuse(checked.error);
  file.identity = checked.identity;
  for (const PluginFile& other : files_) {
    if (other.identity == file.identity) return;  // the same file by another path
  }
  const PluginNote note = read_plugin_note(checked.descriptor.get());
  if (!note.error.empty()) return refuse(note.error);
  try {
    file.manifest = parse_manifest(note.text);
  } catch (const Error& error) {
    return refuse(error.message());
  }
  if (std::string objection = abi_objection(*file.manifest); !objection.empty()) {
    return refuse(std::move(objection));
  }
  if (const PluginFile* first = find_usable(file.manifest->name)) {
    const bool together = first->path.parent_path() == path.parent_path();
    if (together) {
      return refuse(fmt::format("{} is the plugin '{}', too: remove one of them",
                                first->path.string(), file.manifest->name));
    }
    file.state = PluginState::shadowed;
    file.reason = fmt::format("{} comes first", first->path.string());
    if (shipped && !first->shipped) const_cast<PluginFile*>(first)->replaces = path;
  }
  files_.push_back(std::move(file));
}

const PluginFile* PluginHost::find_usable(std::string_view name) const {
  for (const PluginFile& file : files_) {
    const bool usable = file.state == PluginState::available || file.state == PluginState::loaded;
    if (usable && file.manifest->name == name) return &file;
  }
  return nullptr;
}

std::vector<PluginFile> PluginHost::files() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

std::vector<ManifestItem> PluginHost::items(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  std::vector<ManifestItem> found;
  if (const PluginFile* file = find_usable(plugin_of(key))) {
    for (const ManifestItem& item : file->manifest->items) {
      if (item.key == key) found.push_back(item);
    }
  }
  return found;
}

std::string PluginHost::refusal(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (find_usable(name) != nullptr) return {};
  for (const PluginFile& file : files_) {
    if (file.state == PluginState::refused && file.name() == name) {
      return fmt::format("{}: {}", file.path.string(), file.reason);
    }
  }
  return {};
}

void PluginHost::load_plugin(std::string_view name, std::string_view key) {
  {
    const std::lock_guard lock(mutex_);
    if (const PluginFile* file = find_usable(name)) {
      if (file->state == PluginState::loaded) return;
      open(const_cast<PluginFile&>(*file), key.empty() ? name : key);
    }
  }
  const std::string reason = refusal(name);
  if (!reason.empty()) {
    throw PluginError("the plugin cannot be used: " + reason, {.plugin = std::string(name)});
  }
}

void PluginHost::open(PluginFile& file, std::string_view key) {
  try {
    if (identity_of(file.path) != file.identity) {
      throw PluginError("the file changed after trivet read its note; run the command again");
    }
    const ProcessState before = ProcessState::now();
    std::vector<RegistryItem> items =
        open_plugin(file.path, *file.manifest, key, {file.shipped, file.replaces});
    if (const std::string changes = before.changes_to(ProcessState::now()); !changes.empty()) {
      throw PluginError("the plugin changed process-wide state: " + changes);
    }
    registry_.add({file.manifest->name, file.manifest->version, file.path.string()},
                  std::move(items));
    file.state = PluginState::loaded;
  } catch (const Error& error) {
    file.state = PluginState::refused;
    file.reason = error.message();
  }
}

void PluginHost::load(std::string_view, std::string_view key) {
  load_plugin(plugin_of(key), key);
}

std::vector<std::string> PluginHost::keys(std::string_view kind) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> keys;
  for (const PluginFile& file : files_) {
    if (file.state != PluginState::available && file.state != PluginState::loaded) continue;
    for (const ManifestItem& item : file.manifest->items) {
      if (kind.empty() || item.kind == kind) keys.push_back(item.key);
    }
  }
  return keys;
}

// The caller holds the mutex. Items of shipped plugins come first.
std::vector<PluginHost::NumberClaim> PluginHost::number_claims(std::string_view kind) const {
  std::vector<NumberClaim> found;
  for (const PluginFile& file : files_) {
    if (file.state != PluginState::available && file.state != PluginState::loaded) continue;
    for (const ManifestItem& item : file.manifest->items) {
      if (item.kind == kind && !item.scalar_shorthand.empty()) {
        found.push_back({&item, file.shipped});
      }
    }
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const NumberClaim& claim) { return claim.shipped; });
  return found;
}

std::vector<ScalarShorthand> PluginHost::for_number(std::string_view kind) {
  const std::lock_guard lock(mutex_);
  std::vector<ScalarShorthand> found;
  const std::vector<NumberClaim> claims = number_claims(kind);
  for (const NumberClaim& claim : claims) {
    if (claims.front().shipped && !claim.shipped) break;
    found.push_back({claim.item->key, claim.item->scalar_shorthand});
  }
  return found;
}

std::vector<PluginHost::PassedOver> PluginHost::passed_over_numbers() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> kinds;
  for (const PluginFile& file : files_) {
    if (!file.manifest) continue;
    for (const ManifestItem& item : file.manifest->items) kinds.insert(item.kind);
  }
  std::vector<PassedOver> found;
  for (const std::string& kind : kinds) {
    const std::vector<NumberClaim> claims = number_claims(kind);
    for (const NumberClaim& claim : claims) {
      if (claim.shipped || !claims.front().shipped) continue;
      found.push_back({kind, claim.item->key, claims.front().item->key});
    }
  }
  return found;
}

void PluginHost::refuse(std::string_view name, std::string reason) {
  const std::lock_guard lock(mutex_);
  for (PluginFile& file : files_) {
    if (file.state != PluginState::available || file.manifest->name != name) continue;
    file.state = PluginState::refused;
    file.reason = std::move(reason);
    return;
  }
}

void PluginHost::check_schemas() {
  for (const PluginFile& file : files()) {
    if (file.state != PluginState::available) continue;
    for (const ManifestItem& item : file.manifest->items) {
      try {
        if (!item.schema_json.empty()) (void)schema_from_json(item.schema_json);
      } catch (const std::exception& bad) {
        refuse(file.manifest->name, schema_objection(item, bad));
        break;
      }
    }
  }
}

std::string PluginHost::searched() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const SearchDirectory& directory : directories_) {
    if (!directory.exists && directory.error.empty()) continue;
    text += (text.empty() ? "searched " : ", ") + directory.path.string();
    if (!directory.error.empty()) {
      text += " (refused: " + directory.error + ")";
      continue;
    }
    std::string names;
    for (const PluginFile& file : files_) {
      if (file.path.parent_path() != directory.path || file.state == PluginState::shadowed) {
        continue;
      }
      names += (names.empty() ? "" : ", ") + file.name();
      if (file.state == PluginState::refused) names += " refused";
    }
    text += " (" + (names.empty() ? "no plugins" : names) + ")";
  }
  return text.empty() ? "no plugin folder exists" : text;
}

}  // namespace trivet
