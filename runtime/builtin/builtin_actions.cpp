// SPDX-License-Identifier: Apache-2.0
#include "builtin/builtin_actions.h"

#include <utility>

#include <fmt/core.h>

#include "builtin/logged_number.h"
#include "checkpoint/checkpoint_directory.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

Actions build_actions(const std::vector<ConfigOf<Action>>& configs, ActionContext& context) {
  Actions actions;
  for (const ConfigOf<Action>& config : configs) actions.push_back(make(config, context));
  return actions;
}

bool is_met(const WhenConfig& config, const ActionEvent& event) {
  const std::optional<double> value = logged_number(event, config.metric, "trivet/When");
  // NaN is neither above nor below.
  return value && (!config.above || *value > *config.above) &&
         (!config.below || *value < *config.below);
}

// Keeps only characters that every file system accepts in a file name.
std::filesystem::path record_of(const std::string& metric, const std::filesystem::path& directory) {
  std::string name = "best_" + metric;
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    if (!plain) c = '-';
  }
  return directory / (name + ".json");
}

}  // namespace

Periodic::Periodic(const Config& config, ActionContext& context)
    : PeriodicAction(config.interval, build_actions(config.actions, context)) {}

void WhenConfig::validate(Diagnostics& diagnostics) const {
  if (!above && !below) diagnostics.add("metric", "has no bound: set above or below");
}

When::When(const Config& config, ActionContext& context)
    : ConditionalAction([config](const ActionEvent& event) { return is_met(config, event); },
                        build_actions(config.actions, context)) {}

NewBest::NewBest(const Config& config, ActionContext& context)
    : best_(config.metric, config.goal, record_of(config.metric, context.directory)),
      actions_(build_actions(config.actions, context)) {}

Value NewBest::save_state() const {
  return states_of(actions_);
}

void NewBest::restore_state(const Value& state) {
  restore_states(actions_, state);
}

void NewBest::run(const ActionEvent& event) {
  if (event.is_skipped(best_.metric()) || !best_.test(event.logs)) return;
  for (const auto& action : actions_) action->run(event);
  best_.commit(event.logs);
}

ExportWeights::ExportWeights(const Config& config, ActionContext& context)
    : context_(context),
      directories_(context.directory / "export", config.name, config.max_to_keep,
                   [this] { return step_; }) {}

void ExportWeights::run(const ActionEvent& event) {
  step_ = event.step;
  const auto path = directories_.add([&](const std::filesystem::path& directory) {
    CheckpointDirectoryWriter writer(directory);
    writer.write_tensors("model", context_.trainer.export_tensors());
    writer.finish(event.step);
  });
  context_.say(fmt::format("exported step {} to {}", event.step, path.string()));
}

}  // namespace trivet
