// SPDX-License-Identifier: Apache-2.0
// Resolves files, a registered experiment and overrides to one complete config in which every value
// has its origin. Layers, later wins:
//
//   struct defaults < [defaults."plugin/Name"] < experiment < base files < the file
//   < --config_file < overrides
//
// Creates nothing. Loads the plugins that the config names, because their config structs have rules
// besides the schema (draft_config loads only the plugin of a named experiment).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/file_schema.h"
#include "config/overrides/override.h"
#include "config/tree/config_catalog.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"
#include "trivet/experiment.h"
#include "trivet/launch/experiment.h"

namespace trivet {

struct ConfigRequest {
  std::vector<std::filesystem::path> files;  // the file, then each --config_file
  std::string experiment{};                  // "plugin/name", replaces that of the files
  std::vector<Override> overrides{};
  bool load_experiments = true;  // false: skip them, so that no plugin is loaded
  // For a launch: a file below all others if there is a run's config.
  std::filesystem::path below_run{};
  // The contents of files that are not written yet.
  std::map<std::filesystem::path, std::string> texts{};
};

struct ResolvedConfig {
  // The complete config with all defaults and explicit types, including [xp] and [backend].
  Value tree;
  // The same with unresolved references and the [defaults] that filled it.
  Value referring{};
  // The values of files and overrides, without those of structs and [defaults]. References are
  // unresolved.
  Value given{};
  // The same for files only.
  Value from_files{};
  // The [sweep.NAME] tables of the files, unchanged.
  Value sweeps;
  // `tree`, decoded. Objects built from it report paths and origins of `tree`.
  ExperimentConfig experiment;
  // The options in [backend."plugin/Name"] for the backend that `runtime` names; a table.
  Value backend_options;
};

// Throws ConfigError with all errors, sorted by location.
ResolvedConfig resolve_config(const ConfigRequest& request, ConfigCatalog& catalog);

// The config of `trivet launch`. A file may launch any program: without a task there is no run's
// config.
struct ResolvedLaunch {
  Value xp;  // with all defaults; command-line values have the origin kCommandLine
  launch::Experiment experiment;
  Value sweeps;  // the [sweep.NAME] tables
  std::optional<ResolvedConfig> run;
};

// Throws as resolve_config does.
ResolvedLaunch resolve_launch(const ConfigRequest& request, ConfigCatalog& catalog);

// The merged and filled tree of a config that may have errors, for completion and `explain`. Throws
// ConfigError only for unreadable files.
Value draft_config(const ConfigRequest& request, ConfigCatalog& catalog, Diagnostics& diagnostics);

// The tree in its written form, in which plain "${" is escaped.
Value written_tree(const ResolvedConfig& config);

// The whole config as text without references, for people; resolves to an equal tree.
struct ConfigTextOptions {
  bool origins = false;  // behind each value, where it came from
  std::string header{};
};
std::string config_text(const ResolvedConfig& config, const ConfigTextOptions& options = {});

// The text of a run's config.toml, which also resolves to an equal tree. Keeps references, each
// with its value in a comment, so that they follow changes when the file is run again.
std::string run_config_text(const ResolvedConfig& config, const std::string& header = {});

// Reads a run's config.toml and resolves references, without any plugin. Throws ConfigError like
// read_toml_file.
Value read_run_config(const std::filesystem::path& file);
// The same for a parsed table.
Value without_references(Value tree);
// The same for a config that is not written yet.
Value plain_config(const ResolvedConfig& config);

}  // namespace trivet
