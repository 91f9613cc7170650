// SPDX-License-Identifier: Apache-2.0
// PluginHost: finds plugins, lists their items without loading them, and loads a plugin when a
// config names one of its keys.
//
//   PluginHost host(plugin_search_path(arguments.all("plugin-dir")));    // reads notes, runs nothing
//   registry().set_loader(&host);                                        // now make() loads on demand
//   HostLookup lookup(host);                                             // for validate(), from notes alone
//
// Every *.so in the search path gets a state. An unusable file is refused with a reason and does
// not affect the others; a key of a refused plugin throws PluginError with that reason. An opened
// library stays open until the process ends, even if it is refused later: its code may be running.
//
// The first plugin of a name wins; a later one is shadowed (another folder) or refused (same
// folder). A bare number in a config selects the item of a shipped plugin, if one accepts numbers
// of that kind, regardless of other installed plugins.
//
// All functions are thread-safe.
#pragma once

#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/manifest.h"
#include "host/path_safety.h"
#include "host/search_path.h"
#include "trivet/config.h"
#include "trivet/plugin/registry.h"

namespace trivet {

enum class PluginState {
  available,  // its note is valid
  loaded,     // its items are registered
  shadowed,   // another plugin of this name comes first
  refused,
};

TRIVET_ENUM(PluginState, available, loaded, shadowed, refused)

// The reason for refusing a plugin with such a schema in its note.
std::string schema_objection(const ManifestItem& item, const std::exception& bad);

struct PluginFile {
  std::filesystem::path path;
  PluginState state = PluginState::available;
  std::string reason{};                // for shadowed and refused
  std::optional<Manifest> manifest{};  // for every file with a readable note
  FileIdentity identity{};
  bool shipped = false;
  std::filesystem::path replaces{};  // the shipped plugin that this one precedes; or empty

  // Name of the plugin, or of the file if it has no manifest.
  std::string name() const { return manifest ? manifest->name : path.stem().string(); }
};

class PluginHost final : public PluginLoader {
 public:
  explicit PluginHost(std::vector<SearchDirectory> directories, Registry& into = registry());
  ~PluginHost() override;  // removes itself from the registry

  const std::vector<SearchDirectory>& directories() const noexcept { return directories_; }
  // All files in the search path, in the order they were found. Their states may change while
  // others load.
  std::vector<PluginFile> files() const;
  // The items with this key in the notes of usable plugins, of any kind.
  std::vector<ManifestItem> items(std::string_view key) const;
  // The reason why a plugin of this name cannot be used. Empty if it can or if there is none.
  std::string refusal(std::string_view name) const;

  // Loads a plugin by its name. Throws PluginError if it is refused, does nothing if there is none.
  // `key` is the key that needs the plugin, if any; a crash report names it.
  void load_plugin(std::string_view name, std::string_view key = {});

  // Refuses a plugin that is not loaded. Does nothing if there is none of this name.
  void refuse(std::string_view name, std::string reason);
  // Refuses every plugin with an unreadable schema. Otherwise the error is found when a schema is
  // used.
  void check_schemas();
  // Items that accept bare numbers but are not selected by them, with the selected items.
  struct PassedOver {
    std::string kind, key, winner;
  };
  std::vector<PassedOver> passed_over_numbers() const;

  // PluginLoader
  void load(std::string_view kind, std::string_view key) override;
  std::vector<std::string> keys(std::string_view kind) override;
  std::vector<ScalarShorthand> for_number(std::string_view kind) override;
  std::string searched() override;

 private:
  struct NumberClaim {
    const ManifestItem* item;
    bool shipped;
  };
  void scan(const SearchDirectory& directory);
  void look_at(const std::filesystem::path& file, bool shipped);
  std::vector<NumberClaim> number_claims(std::string_view kind) const;
  const PluginFile* find_usable(std::string_view name) const;
  void open(PluginFile& file, std::string_view key);

  std::vector<SearchDirectory> directories_;
  Registry& registry_;
  mutable std::mutex mutex_;
  std::vector<PluginFile> files_;  // filled by the constructor, never resized after it
};

}  // namespace trivet
