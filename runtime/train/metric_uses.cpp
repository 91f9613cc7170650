// SPDX-License-Identifier: Apache-2.0
#include "train/metric_uses.h"

#include <string_view>

#include "train/step_parts.h"
#include "trivet/schema.h"

namespace trivet {
namespace {

// That a trainer gives, all or some of the time.
constexpr const char* kOfTraining[] = {"training_loss", "learning_rate", "skipped_steps",
                                       "restores"};
constexpr const char* kOfEvaluation[] = {"validation_loss"};

void add_use(const Value* metric, std::string path, std::vector<MetricUse>& uses) {
  if (metric == nullptr || !metric->is_text() || metric->as_text().empty()) return;
  uses.push_back({metric->as_text(), std::move(path), metric->origin()});
}

// Of a list of actions and of those inside them.
void collect(const Value* actions, const std::string& path, std::vector<MetricUse>& uses) {
  if (actions == nullptr || !actions->is_array()) return;
  for (std::size_t i = 0; i < actions->items().size(); ++i) {
    const Value& action = actions->items()[i];
    if (!action.is_table()) continue;
    const std::string at = path + "[" + std::to_string(i) + "]";
    const Value* type = action.find("type");
    const bool compares = type != nullptr && (*type == "trivet/When" || *type == "trivet/NewBest");
    if (compares) add_use(action.find("metric"), at + ".metric", uses);
    collect(action.find("actions"), at + ".actions", uses);
  }
}

void add_problems(const std::vector<MetricUse>& uses, const std::set<std::string>& names,
                  std::string_view giver, std::vector<Problem>& problems) {
  for (const MetricUse& use : uses) {
    if (names.contains(use.name)) continue;
    problems.push_back({.where = use.where,
                        .path = use.path,
                        .what = std::string(giver) + " has no number '" + use.name + "'",
                        .hint = suggestion(use.name, {names.begin(), names.end()})});
  }
}

}  // namespace

MetricUses metric_uses(const Value& config) {
  const Value* found = config.find("mode");
  const std::string mode = found != nullptr && found->is_text() ? found->as_text() : "";
  MetricUses uses;
  if (mode.find("train") != std::string::npos) {
    collect(config.find_path("trainer.train_actions"), "trainer.train_actions", uses.training);
  }
  if (mode.find("eval") == std::string::npos) return uses;
  if (mode != "eval") {  // which keeps no best checkpoints
    add_use(config.find_path("trainer.best_checkpoint.metric"), "trainer.best_checkpoint.metric",
            uses.evaluation);
  }
  collect(config.find_path("trainer.eval_actions"), "trainer.eval_actions", uses.evaluation);
  return uses;
}

void add_names(std::set<std::string>& names, const Logs& logs) {
  for (const Logs::Entry& entry : logs) names.insert(entry.first);
}

MetricNames known_names(Task& task, const TrainerConfig& trainer, const MetricUses& uses) {
  MetricNames names{{std::begin(kOfTraining), std::end(kOfTraining)},
                    {std::begin(kOfEvaluation), std::end(kOfEvaluation)}};
  for (const LearnerConfig& learner : trainer.learners) {
    names.training.insert("learning_rate/" + learner.name);
  }
  if (!uses.training.empty()) add_names(names.training, results(task.build_metrics(true)));
  if (!uses.evaluation.empty()) add_names(names.evaluation, results(task.build_metrics(false)));
  return names;
}

std::vector<Problem> unknown_metrics(const MetricUses& uses, const MetricNames& names) {
  std::vector<Problem> problems;
  add_problems(uses.training, names.training, "training", problems);
  add_problems(uses.evaluation, names.evaluation, "the evaluation", problems);
  return problems;
}

}  // namespace trivet
