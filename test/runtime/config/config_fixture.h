// SPDX-License-Identifier: Apache-2.0
// Artificial plugins for tests of config resolution: a few types with every form of field, without
// libraries.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"
#include "support/shell.h"

namespace trivet::test {

// Offers: task demo/Task; model demo/Mlp, demo/Stack; layer demo/Relu, demo/Linear, demo/Residual,
// demo/Endless; input demo/Noise; optimizer demo/Sgd; schedule demo/Constant (for bare numbers),
// demo/Cosine; trainer trivet/Trainer, demo/Trainer; backend cpu/Highway, tiny/Backend; experiment
// demo/small. "demo/Refused" is a layer and an experiment whose plugin cannot be used.
class DemoCatalog : public ConfigCatalog, private SchemaLookup {
 public:
  DemoCatalog();

  SchemaLookup& schemas() override { return *this; }
  std::vector<std::string> keys(std::string_view kind) override;
  std::vector<std::string> kinds_of(std::string_view key) override;
  void check_rules(std::string_view kind, const ConfigValue& config,
                   Diagnostics& diagnostics) override;
  Experiment experiment(const std::string& key) override;
  void check_experiment(const std::string& key, const Value& config,
                        Diagnostics& diagnostics) override;

  std::map<std::string, std::filesystem::path> experiment_files{};  // in addition to demo/small

 private:
  const Schema* find(std::string_view kind, std::string_view key, const Origin& where,
                     const std::string& path, Diagnostics& diagnostics) override;
  std::optional<ScalarShorthand> for_number(std::string_view kind) override;

  struct Item {
    Schema schema;
    void (*check)(const Value&, const std::string&, Diagnostics&) = nullptr;
  };
  template <class C>
  void add(const char* kind, const char* key);

  std::map<std::pair<std::string, std::string>, Item> items_;
};

// Config files in a new folder, and the results of resolving them. The folder's name is removed
// from texts.
class Configs {
 public:
  Configs() = default;
  explicit Configs(std::string_view main) { write("main.toml", main); }

  std::filesystem::path write(std::string_view name, std::string_view text) {
    return dir_.write(name, text);
  }
  std::filesystem::path path(std::string_view name) const { return dir_ / name; }

  // Resolves main.toml with these overrides.
  ResolvedConfig resolve(const std::vector<std::string>& overrides = {});
  // The errors of that, one per line: "location: path: what (hint)".
  std::string diagnostics(const std::vector<std::string>& overrides = {});
  // "main.toml:3:4" or "default" ...
  std::string origin(const ResolvedConfig& config, std::string_view path) const;
  std::string shorten(std::string text) const;

  // Makes a file in the folder an experiment.
  void name_experiment(const std::string& key, std::string_view file) {
    catalog_.experiment_files[key] = path(file);
  }

  ConfigRequest request{};  // files and experiment; main.toml if there are none

 private:
  ConfigRequest full_request(const std::vector<std::string>& given) const;

  TempDir dir_;
  DemoCatalog catalog_;
};

// The value at a path as TOML text. "absent" if there is none.
std::string text_at(const Value& tree, std::string_view path);

// A valid config of 13 lines.
extern const char* const kGoodConfig;

}  // namespace trivet::test
