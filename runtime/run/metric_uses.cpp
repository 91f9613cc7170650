// SPDX-License-Identifier: Apache-2.0
#include "run/metric_uses.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "config/file_schema.h"
#include "config/modes.h"
#include "config/tree/typed_tree.h"
#include "evaluation/eval_sets.h"
#include "step/step_parts.h"
#include "trivet/config/enums.h"
#include "trivet/config/schema.h"
#include "trivet/search/metric_pattern.h"

namespace trivet {
namespace {

// Metrics that a trainer gives always or sometimes.
constexpr const char* kOfTraining[] = {"training_loss", "learning_rate", "skipped_steps",
                                       "restores"};
constexpr const char* kOfEvaluation[] = {"validation_loss"};
// What records have beside metrics (run_recorder.cpp).
constexpr std::string_view kTrainingRates[] = {"steps_per_second", "examples_per_second",
                                               "tokens_per_second", "mfu", "num_params"};
constexpr std::string_view kEvaluationRates[] = {"seconds", "examples", "steps_per_second",
                                                 "num_params"};

// Adds a use for each field below a value that names a metric.
class UseCollector {
 public:
  UseCollector(const Schema& root, SchemaLookup& schemas, std::vector<MetricUse>& uses)
      : tree_(root, schemas), uses_(uses) {}

  // `path`: members of tables alone.
  void collect(const Value& config, std::string_view path) {
    const Value* value = &config;
    SchemaNode node = tree_.root();
    for (const PathStep& step : split_path(path)) {
      node = tree_.child(*value, node, step.name);
      value = value->is_table() ? value->find(step.name) : nullptr;
      if (value == nullptr) return;
    }
    look(*value, node, std::string(path));
  }

 private:
  void look(const Value& value, const SchemaNode& node, const std::string& path);

  TypedTree tree_;
  std::vector<MetricUse>& uses_;
};

void UseCollector::look(const Value& value, const SchemaNode& node, const std::string& path) {
  if (node.type == nullptr) return;
  if (node.field != nullptr && node.field->names_metric && value.is_string()) {
    if (!value.as_string().empty()) uses_.push_back({value.as_string(), path, value.origin()});
  } else if (value.is_table()) {
    for (const Value::Member& member : value.members()) {
      look(member.value, tree_.child(value, node, member.key), joined_path(path, member.key));
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      look(value.items()[i], tree_.element(node), joined_path(path, i));
    }
  }
}

void add_problems(const std::vector<MetricUse>& uses, const std::set<std::string>& names,
                  std::string_view giver, std::vector<Diagnostic>& diagnostics) {
  for (const MetricUse& use : uses) {
    const bool is_known = use.form == MetricUse::Form::name
                              ? names.contains(use.name)
                              : std::ranges::any_of(names, [&](const std::string& name) {
                                  return search::fits_pattern(name, use.name);
                                });
    if (is_known) continue;
    diagnostics.push_back(
        {.where = use.where,
         .path = use.path,
         .what = names.empty() ? fmt::format("'{}' is a metric of {}, which the config's mode "
                                             "skips",
                                             use.name, giver)
                               : fmt::format("{} has no metric '{}'", giver, use.name),
         .hint = suggestion(use.name, {names.begin(), names.end()})});
  }
}

// The names of a set's metrics, as Logs. `own`: those of the task's evaluations.
Logs names_of_set(const EvalInputConfig& set, const Logs& own) {
  Logs names;
  if (set.program == EvalProgram::eval) {
    names = own;
    for (const char* name : kOfEvaluation) names.set(name, 0);
    return names;
  }
  for (const ConfigOf<TextMetric>& metric : set.text_metrics) names.merge(make(metric)->result());
  names.set("examples", 0);
  return names;
}

}  // namespace

MetricUses metric_uses(const Value& config, SchemaLookup& schemas) {
  const std::optional<Mode> mode = enum_from_name<Mode>(config.string_or("mode"));
  MetricUses uses;
  if (!mode) return uses;
  if (trains(*mode)) {
    UseCollector(config_file_schema(), schemas, uses.training)
        .collect(config, "trainer.train_actions");
  }
  const std::optional<EvalProgram>& program = traits_of(*mode).program;
  if (!evaluates(*mode) || (program && *program != EvalProgram::eval)) return uses;
  UseCollector evaluated(config_file_schema(), schemas, uses.evaluation);
  // A standalone evaluation keeps no best checkpoints.
  if (!evaluates_once(*mode)) evaluated.collect(config, "trainer.best_checkpoint");
  evaluated.collect(config, "trainer.eval_actions");
  return uses;
}

void add_searched_metrics(const Value& config, SchemaLookup& schemas, MetricUses& uses) {
  std::vector<MetricUse> found;
  UseCollector(launch_file_schema(), schemas, found).collect(config, "xp");
  for (MetricUse& use : found) {
    if (auto pattern = search::parse_metric_pattern(use.name)) {
      use.name = std::move(pattern->pattern);
      use.form = MetricUse::Form::pattern;
    }
    const bool of_training = use.name.starts_with("train/");
    if (of_training || use.name.starts_with("eval/")) use.name.erase(0, use.name.find('/') + 1);
    const std::span<const std::string_view> rates =
        of_training ? std::span<const std::string_view>(kTrainingRates) : kEvaluationRates;
    if (std::ranges::find(rates, use.name) != rates.end()) continue;
    (of_training ? uses.training : uses.evaluation).push_back(std::move(use));
  }
}

void add_names(std::set<std::string>& names, const Logs& logs, const std::string& prefix) {
  for (const Logs::Entry& entry : logs) names.insert(prefix + entry.first);
}

MetricNames known_names(Task& task, const TrainerConfig& trainer, const MetricUses& uses) {
  MetricNames names{{std::begin(kOfTraining), std::end(kOfTraining)},
                    {std::begin(kOfEvaluation), std::end(kOfEvaluation)}};
  for (const LearnerConfig& learner : trainer.learners) {
    names.training.insert("learning_rate/" + learner.name);
  }
  if (!uses.training.empty()) {
    add_names(names.training, results(all_metrics(task, Phase::training)));
  }
  if (!uses.evaluation.empty()) {
    const Logs own = results(all_metrics(task, Phase::evaluation));
    add_names(names.evaluation, own);
    for (const EvalSet& set : eval_sets(task)) {
      const Logs of_set =
          set.task == &task ? own : results(all_metrics(*set.task, Phase::evaluation));
      add_names(names.evaluation, names_of_set(*set.config, of_set), set.name + "/");
    }
  }
  return names;
}

std::vector<Diagnostic> unknown_metrics(const MetricUses& uses, const MetricNames& names) {
  std::vector<Diagnostic> diagnostics;
  add_problems(uses.training, names.training, "training", diagnostics);
  add_problems(uses.evaluation, names.evaluation, "the evaluation", diagnostics);
  return diagnostics;
}

}  // namespace trivet
