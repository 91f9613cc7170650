// SPDX-License-Identifier: Apache-2.0
// run() of trivet/train/run.h.
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/host_catalog.h"
#include "embed/line_view.h"
#include "run/run_arguments.h"
#include "run/run_command.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/input_file.h"
#include "trivet/train/run.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

// The name that the experiment of the options has while the config is resolved.
constexpr const char* kOwnExperiment = "program/experiment";
constexpr std::size_t kMostSummaryBytes = std::size_t{64} << 20;

// The plugins, and the experiment that the program has built.
class EmbeddedCatalog final : public ConfigCatalog {
 public:
  EmbeddedCatalog(const std::vector<std::string>& plugin_dirs,
                  const std::optional<ExperimentConfig>& own)
      : host_(plugin_dirs, UnknownDefaults::load_plugin), own_(own) {}

  SchemaLookup& schemas() override { return host_.schemas(); }
  std::vector<std::string> keys(std::string_view kind) override { return host_.keys(kind); }
  std::vector<std::string> kinds_of(std::string_view key) override { return host_.kinds_of(key); }
  void check_rules(std::string_view kind, const ConfigValue& config,
                   Diagnostics& diagnostics) override {
    host_.check_rules(kind, config, diagnostics);
  }
  Experiment experiment(const std::string& key) override {
    if (own_ && key == kOwnExperiment) return {.config = encode(*own_)};
    return host_.experiment(key);
  }
  void check_experiment(const std::string& key, const Value& config,
                        Diagnostics& diagnostics) override {
    host_.check_experiment(key, config, diagnostics);
  }

 private:
  HostCatalog host_;
  const std::optional<ExperimentConfig>& own_;
};

std::vector<std::string> words_of(const RunOptions& options) {
  std::vector<std::string> words;
  if (!options.config.empty()) words.push_back("--cfg=" + options.config.string());
  if (options.experiment) words.push_back("--experiment=" + std::string(kOwnExperiment));
  for (const std::string& override : options.overrides) words.push_back("--set=" + override);
  return words;
}

Value summary_in(const fs::path& directory) {
  const fs::path file = directory / "summary.json";
  std::error_code ignored;
  if (directory.empty() || !fs::exists(file, ignored)) return {};
  return value_from_json(input_text(file.string(), kMostSummaryBytes), file.string());
}

}  // namespace

RunResult run(const RunOptions& options) {
  if (options.config.empty() != options.experiment.has_value()) {
    throw UsageError("a run needs either a config file or an experiment");
  }
  std::vector<std::string> plugin_dirs;
  for (const fs::path& dir : options.plugin_dirs) plugin_dirs.push_back(dir.string());
  const ConfigArguments given = parse_run_arguments(words_of(options));
  EmbeddedCatalog catalog(plugin_dirs, options.experiment);
  RunResult result;
  RunRequest request;
  request.config = resolve_config(given.request, catalog);
  request.workdir = options.workdir;
  request.root = options.root;
  request.name = options.config.empty() ? "experiment" : options.config.stem().string();
  request.source = given.source;
  request.directory = &result.directory;
  LineView view(options.on_line);
  result.exit_code = run_command(request, view);
  result.summary = summary_in(result.directory);
  return result;
}

}  // namespace trivet
