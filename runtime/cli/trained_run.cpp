// SPDX-License-Identifier: Apache-2.0
#include "cli/trained_run.h"

#include <utility>

#include "launch/index/experiment_index.h"
#include "launch/store/experiment_id.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

class Opened final : public TrainedRun {
 public:
  Opened(ResolvedConfig config, const RunCheckpoint& location)
      : directory_(location.config.parent_path()),
        config_(std::move(config)),
        model_(config_, location),
        weights_(model_.weights()) {}

  const fs::path& directory() const override { return directory_; }
  const Value& config() const override { return config_.tree; }
  const NamedTensors& weights() const override { return weights_; }
  std::int64_t step() const override { return model_.step(); }
  bool averaged() const override { return model_.averaged(); }
  Device& device() override { return model_.device(); }

 private:
  fs::path directory_;
  ResolvedConfig config_;
  TrainedModel model_;
  NamedTensors weights_;
};

}  // namespace

fs::path run_named(const std::string& word) {
  std::error_code ignored;
  if (fs::exists(word, ignored)) return word;
  const bool is_id = !word.empty() && (word[0] == '@' || (word[0] >= '0' && word[0] <= '9'));
  if (!is_id) {
    throw UsageError("no run is named '" + word + "'", {.hint = "trivet ls lists those in runs/"});
  }
  const ExperimentId id = find_experiment(word, experiments_root(nullptr));
  if (!id.wid) {
    throw UsageError("'" + word + "' is an experiment; name one of its work units",
                     {.hint = "trivet ls " + word + " lists them"});
  }
  const ExperimentView view = ExperimentIndex(id).experiment(id.xid, id.wid);
  return unit_of(view, *id.wid).directory;
}

ResolvedConfig trained_config(const RunCheckpoint& location, std::span<const std::string> overrides,
                              ConfigCatalog& catalog) {
  ConfigRequest request;
  request.files = {location.config};
  for (const std::string& text : overrides) {
    request.overrides.push_back({.text = text, .shown = "--set=" + text, .offset = 6});
  }
  return resolve_config(request, catalog);
}

std::unique_ptr<TrainedRun> open_trained(const std::string& run,
                                         std::span<const std::string> overrides,
                                         ConfigCatalog& catalog) {
  const RunCheckpoint location = find_run_checkpoint(run_named(run));
  return std::make_unique<Opened>(trained_config(location, overrides, catalog), location);
}

}  // namespace trivet
