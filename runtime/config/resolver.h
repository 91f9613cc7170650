// SPDX-License-Identifier: Apache-2.0
//
// From files, a registered experiment and overrides to one complete config in which every value
// knows where it came from. Layers, later wins:
//
//   struct defaults < [defaults."plugin/Name"] < experiment < base files < the file
//   < --config_file < overrides
//
// Nothing is created. Plugins that the config names are loaded, for the rules that their config
// structs have beside the schema (draft_config loads none but that of a named experiment).
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
  std::string experiment{};                  // "plugin/name" instead of what the files say
  std::vector<Override> overrides{};
  bool load_experiments = true;  // false: leave them out, so that no plugin is loaded
  // Of a launch: a file below all others where there is a run's config.
  std::filesystem::path below_run{};
  // What files will hold that are not written yet.
  std::map<std::filesystem::path, std::string> texts{};
};

struct ResolvedConfig {
  // The whole config with all defaults and explicit types, [xp] and [backend] included.
  Value tree;
  // The same before references were resolved, with the [defaults] that filled it.
  Value referring{};
  // What files and overrides say, without what structs and [defaults] fill in; references stand as
  // they are written.
  Value given{};
  // The same of files alone.
  Value from_files{};
  // The [sweep.NAME] tables as they stand in the files.
  Value sweeps;
  // What `tree` says, decoded. Objects made from its parts report paths and origins of `tree`.
  ExperimentConfig experiment;
  // The options in [backend."plugin/Name"] for the backend that `runtime` names; a table.
  Value backend_options;
};

// Throws ConfigError with everything that is wrong, sorted by location.
ResolvedConfig resolve_config(const ConfigRequest& request, ConfigCatalog& catalog);

// What `trivet launch` is told. A file may launch anything: without a task there is no run's
// config.
struct ResolvedLaunch {
  Value xp;  // with all defaults; what the command line says knows so (kCommandLine)
  launch::Experiment experiment;
  Value sweeps;  // the [sweep.NAME] tables
  std::optional<ResolvedConfig> run;
};

// Throws as resolve_config does.
ResolvedLaunch resolve_launch(const ConfigRequest& request, ConfigCatalog& catalog);

// The merged and filled tree of a config that may still be wrong, for completion and `explain`.
// Throws ConfigError only for files that cannot be read.
Value draft_config(const ConfigRequest& request, ConfigCatalog& catalog, Diagnostics& diagnostics);

// The tree as it is written to a file and read again: plain "${" is escaped.
Value written_tree(const ResolvedConfig& config);

// The whole config as text without references, for people; resolves to an equal tree.
struct ConfigTextOptions {
  bool origins = false;  // behind each value, where it came from
  std::string header{};
};
std::string config_text(const ResolvedConfig& config, const ConfigTextOptions& options = {});

// The text of a run's config.toml: resolves to an equal tree as well. References stay, each with
// what it means behind it, so that they follow what is changed when the file is run again.
std::string run_config_text(const ResolvedConfig& config, const std::string& header = {});

// What a run's config.toml says, references resolved, without asking any plugin. Throws ConfigError
// as read_toml_file does.
Value read_run_config(const std::filesystem::path& file);
// The same of a table that was read from such a text.
Value without_references(Value tree);
// The same of a config that was not written yet.
Value plain_config(const ResolvedConfig& config);

}  // namespace trivet
