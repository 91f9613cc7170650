// SPDX-License-Identifier: Apache-2.0
//
// PluginHost: finds plugins, tells what they offer without opening them, and loads one when a
// config names a key of it.
//
//   PluginHost host(plugin_search_path(arguments.all("plugin-dir")));    // reads notes, runs nothing
//   registry().set_loader(&host);                                        // now make() loads on demand
//   HostLookup lookup(host);                                             // for validate(), from notes alone
//
// Every *.so in the search path has a state afterwards. A file that cannot be used is refused with
// a reason, the others go on; asking for a key of a refused plugin throws PluginError with that
// reason. A library that was opened stays open until the process ends, also when it is refused
// after that: its code may be running.
//
// The first plugin of a name wins; a later one is shadowed (another folder) or refused (same
// folder). A bare number in a config means the item of a shipped plugin, if one claims numbers of
// that kind, whatever else is installed.
//
// Calls may come from any thread.
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
#include "trivet/plugin/registry.h"

namespace trivet {

enum class PluginState {
  available,  // its note has been read and fits
  loaded,     // its items are registered
  shadowed,   // another plugin of its name comes first
  refused,
};

std::string_view to_string(PluginState state) noexcept;

// Why a plugin with such a schema in its note is refused.
std::string schema_objection(const ManifestItem& item, const std::exception& bad);

struct PluginFile {
  std::filesystem::path path;
  PluginState state = PluginState::available;
  std::string reason{};                // of shadowed and refused
  std::optional<Manifest> manifest{};  // of every file that has a readable note
  FileIdentity identity{};
  bool shipped = false;
  std::filesystem::path replaces{};  // the shipped plugin that it comes before; or empty

  // Name of the plugin, or of the file when it has no manifest.
  std::string name() const { return manifest ? manifest->name : path.stem().string(); }
};

class PluginHost final : public PluginLoader {
 public:
  explicit PluginHost(std::vector<SearchDirectory> directories, Registry& into = registry());
  ~PluginHost() override;  // takes itself away from the registry

  const std::vector<SearchDirectory>& directories() const noexcept { return directories_; }
  // All files looked at, in the order they were found. Their states may change while others load.
  std::vector<PluginFile> files() const;
  // What the notes of usable plugins say about a key, whatever its kind.
  std::vector<ManifestItem> items(std::string_view key) const;
  // Why a plugin of this name cannot be used; empty if it can or if there is none.
  std::string refusal(std::string_view name) const;

  // Loads a plugin by its name. Throws PluginError if it is refused, does nothing if there is none.
  // `key` is what it is loaded for, if for one; a crash while loading names it.
  void load_plugin(std::string_view name, std::string_view key = {});

  // Refuses a plugin that is not loaded; does nothing if there is none of this name.
  void refuse(std::string_view name, std::string reason);
  // Refuses every plugin with a schema that cannot be read. Otherwise that is found when one is
  // asked for.
  void check_schemas();
  // Items that claim bare numbers of their kind and do not get them, with those that do.
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
