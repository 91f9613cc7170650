// SPDX-License-Identifier: Apache-2.0
// Tagging: predicts a tag for each word of a text (Model Garden's tagging). Its input is
// data/TaggedSequences, whose class_names are the task's. The loss is the mean cross entropy over
// positions whose "weights" are not 0: the first token of each word. Evaluations report the metrics
// of tag_scores.h.
#pragma once

#include <string>
#include <vector>

#include "lm/tasks/text_task.h"
#include "trivet/extensions/predictor.h"

namespace trivet::lm {

struct TaggingConfig : TokenTaskConfig {
  std::vector<std::string> class_names;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(TaggingConfig, TokenTaskConfig,
              (class_names,
               "Names of the tags, in the order of their numbers, such as [\"O\", \"B-PER\", "
               "\"I-PER\"].",
               required))

class Tagging final : public TextTask, public Predictor {
 public:
  using Config = TaggingConfig;
  Tagging(const Config& config, TaskContext& context)
      : TextTask(config, context), class_names_(config.class_names) {}

  std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope) override;
  // Throws ConfigError if the input has other class_names.
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;
  Metrics build_metrics(Phase phase) override;
  Range expected_initial_loss() const override { return chance_of(std::ssize(class_names_)); }
  const void* extension(std::string_view id) const noexcept override;
  // "tags": the name of the likeliest tag of each word.
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 protected:
  std::vector<MetaColumn> loss_columns() const override {
    return {{"tags", DType::i32, MetaColumn::Of::token}};
  }

 private:
  std::vector<std::string> class_names_;
};

}  // namespace trivet::lm
