// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/tagging.h"

#include <algorithm>
#include <optional>

#include "lm/metrics/tag_scores.h"
#include "lm/tasks/model_fields.h"
#include "trivet/error.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

bool same_names(const Value& value, const std::vector<std::string>& names) {
  return value.is_array() &&
         std::ranges::equal(value.items(), names, [](const Value& item, const std::string& name) {
           return item.is_string() && item.as_string() == name;
         });
}

}  // namespace

void TaggingConfig::validate(Diagnostics& diagnostics) const {
  TokenTaskConfig::validate(diagnostics);
  if (class_names.size() < 2) {
    diagnostics.add("class_names", "has " + std::to_string(class_names.size()) +
                                       " names; there is nothing to predict");
  }
}

std::unique_ptr<Model> Tagging::build_model(const ConfigOf<Model>& config, Scope& scope) {
  return TextTask::build_model(with_num_classes(config, std::ssize(class_names_)), scope);
}

std::unique_ptr<Input> Tagging::build_inputs(const ConfigOf<Input>& config, InputContext& context) {
  const Value* names = config.fields().find("class_names");
  if (names != nullptr && !same_names(*names, class_names_)) {
    throw ConfigError(Diagnostic{.path = context.name + ".class_names",
                                 .what = "differ from the task's",
                                 .hint = "class_names = \"${task.class_names}\""});
  }
  return TextTask::build_inputs(config, context);
}

Metrics Tagging::build_metrics(Phase) {
  Metrics metrics;
  metrics.push_back(std::make_unique<TagScores>(class_names_));
  return with_losses(std::move(metrics));
}

const void* Tagging::extension(std::string_view id) const noexcept {
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return TextTask::extension(id);
}

std::vector<Value> Tagging::predictions(const Batch& batch, const NestedMap& outputs) const {
  const Tensor& likeliest = outputs.at("per_example_argmax");
  const HostArray<std::int32_t> tags(likeliest);
  const HostArray<float> marks(batch.at("weights"));
  std::optional<HostArray<float>> weights;
  if (const Tensor* weight = batch.find("weight")) weights.emplace(*weight);
  const std::int64_t rows = likeliest.dim(0), length = likeliest.dim(1);
  std::vector<Value> predicted(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (weights && (*weights)[row] == 0) continue;
    std::vector<std::string> names;
    for (std::int64_t i = row * length; i < (row + 1) * length; ++i) {
      if (marks[i] > 0) names.push_back(class_names_.at(static_cast<std::size_t>(tags[i])));
    }
    predicted[static_cast<std::size_t>(row)] = Value::table({{"tags", Value::array_of(names)}});
  }
  return predicted;
}

}  // namespace trivet::lm
