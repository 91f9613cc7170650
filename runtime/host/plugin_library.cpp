// SPDX-License-Identifier: Apache-2.0
#include "host/plugin_library.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <boost/dll/shared_library.hpp>
#include <fmt/core.h>

#include "host/crash_report.h"
#include "host/item_collector.h"
#include "host/loaded_plugins.h"
#include "host/stray_output.h"
#include "trivet/error.h"
#include "trivet/plugin/abi.h"
#include "trivet/plugin/abi_tag.h"
#include "trivet/version.h"

namespace trivet {
namespace {

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : symbol;
}

// The message of the loader, without Boost's prefix and suffix.
std::string loader_message(std::string text) {
  constexpr std::string_view kBefore = "dlerror system message: ";
  if (const std::size_t at = text.find(kBefore); at != std::string::npos) {
    text.erase(0, at + kBefore.size());
    text.resize(std::min(text.size(), text.rfind("): ")));
  }
  constexpr std::string_view kUndefined = "undefined symbol: ";
  if (const std::size_t at = text.find(kUndefined); at != std::string::npos) {
    const std::string rest = text.substr(at + kUndefined.size());
    const std::string symbol = rest.substr(0, rest.find_first_of(", \t"));
    return fmt::format(
        "undefined symbol {}: link the plugin with -Wl,-z,defs to see where it "
        "is used",
        demangled(symbol));
  }
  return text;
}

// Never closed: objects and threads of a library may exist until the process ends.
boost::dll::shared_library& open_forever(const std::filesystem::path& file) {
  using boost::dll::load_mode::rtld_local;
  using boost::dll::load_mode::rtld_now;
  // Reachable from a static variable, so that leak checkers do not report it.
  static auto& kept = *new std::vector<std::unique_ptr<boost::dll::shared_library>>;
  auto library = std::make_unique<boost::dll::shared_library>();
  try {
    library->load(file, rtld_now | rtld_local);
  } catch (const std::exception& failure) {
    throw PluginError("the loader rejects it: " + loader_message(failure.what()));
  } catch (...) {
    // Half initialized: closing it now would run its destructors.
    kept.push_back(std::move(library));
    throw PluginError("its static initializers threw something that is not a std::exception");
  }
  return *kept.emplace_back(std::move(library));
}

const trivet_entry_v1& entry_of(const boost::dll::shared_library& library) {
  if (!library.has(TRIVET_ENTRY_SYMBOL)) {
    throw PluginError(
        fmt::format("the symbol {} is missing or hidden: the plugin's version script must list it",
                    TRIVET_ENTRY_SYMBOL));
  }
  const auto& entry = library.get<const trivet_entry_v1>(TRIVET_ENTRY_SYMBOL);
  if (entry.magic != TRIVET_ENTRY_MAGIC || entry.struct_size < sizeof(trivet_entry_v1) ||
      entry.init == nullptr) {
    throw PluginError(fmt::format("{} is not the entry of a trivet plugin", TRIVET_ENTRY_SYMBOL));
  }
  return entry;
}

void check_agreement(const trivet_entry_v1& entry, const Manifest& manifest) {
  const bool same_sdk = std::cmp_equal(entry.sdk_major, manifest.sdk_major) &&
                        std::cmp_equal(entry.sdk_minor, manifest.sdk_minor);
  if (!same_sdk) throw PluginError("its entry and its note name different SDK versions");
  if (entry.abi_tag == nullptr) throw PluginError("its entry has no ABI tag");
  std::string_view tag(entry.abi_tag);
  while (!tag.empty()) {
    const std::string_view field = tag.substr(0, tag.find(';'));
    tag.remove_prefix(std::min(tag.size(), field.size() + 1));
    const std::size_t equals = std::min(field.find('='), field.size());
    for (const auto& [name, value] : manifest.abi) {
      if (name == field.substr(0, equals) &&
          value != field.substr(std::min(field.size(), equals + 1))) {
        throw PluginError(fmt::format("its entry and its note disagree about '{}'", name));
      }
    }
  }
}

void run_entry(const trivet_entry_v1& entry, ItemCollector& collector) {
  trivet_host_v1 host{};
  host.struct_size = sizeof host;
  host.sdk_major = TRIVET_SDK_MAJOR;
  host.sdk_minor = TRIVET_SDK_MINOR;
  host.registrar = static_cast<Registrar*>(&collector);
  char reason[1024] = "";
  int result = 1;
  try {
    result = entry.init(&host, reason, sizeof reason);
  } catch (const std::exception& failure) {
    throw PluginError(fmt::format("its entry threw: {}", failure.what()));
  } catch (...) {
    throw PluginError("its entry threw something that is not a std::exception");
  }
  reason[sizeof reason - 1] = '\0';
  if (result != 0) {
    throw PluginError(fmt::format("its entry failed: {}", *reason != '\0' ? reason : "no reason"));
  }
}

void check_items(const std::vector<RegistryItem>& items, const Manifest& manifest) {
  std::set<std::pair<std::string_view, std::string_view>> offered;
  for (const RegistryItem& item : items) {
    if (manifest.find(item.kind, item.key) == nullptr) {
      throw PluginError(fmt::format("its entry offers the {} '{}', which its note does not declare",
                                    item.kind, item.key));
    }
    if (!offered.emplace(item.kind, item.key).second) {
      throw PluginError(fmt::format("its entry offers the {} '{}' twice", item.kind, item.key));
    }
  }
  for (const ManifestItem& item : manifest.items) {
    if (!offered.contains({item.kind, item.key})) {
      throw PluginError(fmt::format("its note declares the {} '{}', which its entry does not offer",
                                    item.kind, item.key));
    }
  }
}

}  // namespace

std::vector<RegistryItem> open_plugin(const std::filesystem::path& file, const Manifest& manifest,
                                      std::string_view key, const PluginOrigin& from) {
  PluginLoading loading(manifest.name, file, key);
  const StrayOutput talk;
  const trivet_entry_v1& entry = entry_of(open_forever(file));
  note_loaded({manifest.name, manifest.version, file, {}, from.replaces, from.shipped}, &entry);
  check_agreement(entry, manifest);
  ItemCollector collector;
  loading.enter(PluginLoading::Phase::entry);
  run_entry(entry, collector);
  check_items(collector.items, manifest);
  return std::move(collector.items);
}

}  // namespace trivet
