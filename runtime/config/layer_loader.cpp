// SPDX-License-Identifier: Apache-2.0
#include "config/layer_loader.h"

#include <algorithm>
#include <system_error>

#include "config/predefined.h"
#include "config/toml/toml_reader.h"
#include "config/tree/references.h"

namespace trivet {
namespace {

// A file may be a base of several files, so the number of layers could double at each level.
constexpr std::size_t kMostFiles = 200;

}  // namespace

// The user's file has priority over a built-in file of the same name.
Value LayerLoader::read(const std::filesystem::path& file, const Origin& named_at) const {
  if (texts_ != nullptr) {
    const auto known = texts_->find(file);
    if (known != texts_->end()) return read_toml(known->second, file.generic_string());
  }
  const std::string_view text = predefined_config(file.generic_string());
  std::error_code ignored;
  if (text.empty() || std::filesystem::exists(file, ignored)) return read_toml_file(file, named_at);
  return read_toml(text, file.generic_string());
}

void LayerLoader::load(const std::filesystem::path& file) {
  load(file, {});
}

bool LayerLoader::is_cycle(const std::filesystem::path& identity, const std::string& name,
                           const Origin& named_at) {
  const auto first = std::find_if(chain_.begin(), chain_.end(),
                                  [&](const Link& link) { return link.identity == identity; });
  if (first == chain_.end()) return false;
  std::string text;
  for (auto link = first; link != chain_.end(); ++link) text += link->name + " -> ";
  diagnostics_.add(
      {named_at, "base", "base cycle: " + text + name, "a config cannot be based on itself"});
  return true;
}

void LayerLoader::load(const std::filesystem::path& file, const Origin& named_at) {
  std::error_code error;
  std::filesystem::path identity = std::filesystem::weakly_canonical(file, error);
  if (error) identity = file;
  if (is_cycle(identity, file.string(), named_at)) return;
  if (++loads_ > kMostFiles) {
    if (loads_ == kMostFiles + 1) {
      diagnostics_.add({named_at, "base", "this config is based on more than 200 files", {}});
    }
    return;
  }
  try {
    Value table = read(file, named_at);
    set_config_dir(table,
                   std::filesystem::absolute(file).parent_path().lexically_normal().string());
    chain_.push_back({std::move(identity), file.string()});
    load_bases(table, file);
    chain_.pop_back();
    layers_.push_back(std::move(table));
  } catch (const ConfigError& wrong) {
    for (const Diagnostic& problem : wrong.diagnostics()) diagnostics_.add(problem);
  }
}

void LayerLoader::load_bases(Value& table, const std::filesystem::path& file) {
  const Value* base = table.find("base");
  if (base == nullptr) return;
  const auto refuse = [&](const Value& value) {
    diagnostics_.add(
        {value.origin(), "base",
         "expected a list of file names, found " + std::string(to_string(value.type())),
         "write base = [\"other.toml\"]"});
  };
  if (!base->is_array()) return refuse(*base);
  for (const Value& name : base->items()) {
    if (!name.is_string()) {
      refuse(name);
      continue;
    }
    load((file.parent_path() / name.as_string()).lexically_normal(), name.origin());
  }
  table.erase("base");
}

}  // namespace trivet
