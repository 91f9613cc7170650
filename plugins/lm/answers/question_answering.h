// SPDX-License-Identifier: Apache-2.0
// QuestionAnswering: finds the answer to a question in a text (SQuAD; Devlin et al. 2018, 4.2 and
// 4.3; Model Garden's question_answering). Its model is lm/BertQuestionAnswering, its input
// data/QuestionAnswering. The loss is the mean of the cross entropies of the start and of the end
// over the positions of the row.
//
// Metrics: start_position_accuracy and end_position_accuracy; evaluations also have exact_match and
// f1 in percent, and with version_2 the further ones of squad_score.h. The answer to a question is
// the best span (span_search.h) of all its windows. With version_2 it is none where
//
//   min over windows of (start logit + end logit at [CLS]) - score of the best span
//
// is above null_score_diff_threshold. Evaluations keep the best answer of each question.
//
// Predictions have a table for each question, in the row of its last window: "id" (null: none),
// "answer", "start" and "end" (characters of the context, the end excluded; null without an
// answer), "score" of the best span and "null_score" of no answer, sums of logits (null: none).
// With version_2 the answer is "" where the question seems to have none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lm/answers/row_answers.h"
#include "lm/answers/span_search.h"
#include "lm/tasks/text_task.h"
#include "trivet/extensions/predictor.h"

namespace trivet::lm {

struct QuestionAnsweringConfig : TextTaskConfig {
  bool version_2 = false;
  std::int64_t n_best_size = 20;
  std::int64_t max_answer_length = 30;
  double null_score_diff_threshold = 0;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(QuestionAnsweringConfig, TextTaskConfig,
              (version_2, "Questions may have no answer, as in SQuAD 2.0."),
              (n_best_size, "Likeliest starts, and ends, that make spans.", at_least(1),
               adjustable),
              (max_answer_length, "Most tokens of an answer.", at_least(1), adjustable),
              (null_score_diff_threshold,
               "With version_2: how much better no answer must score than the best one.",
               adjustable))

class QuestionAnswering final : public TextTask, public Predictor {
 public:
  using Config = QuestionAnsweringConfig;
  QuestionAnswering(const Config& config, TaskContext& context);

  // Throws ConfigError for an input of version 2, whose questions may have no answer, where the
  // task always gives one.
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;
  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  Metrics build_metrics(Phase phase) override;
  std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                 const StepOutput& step) override;
  Logs reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) override;
  // The loss of guessing a position by chance.
  Range expected_initial_loss() const override;
  const void* extension(std::string_view id) const noexcept override;
  // Throws UsageError for windows of a question that do not follow each other, in this batch or
  // from the one before.
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 protected:
  std::vector<MetaColumn> loss_columns() const override {
    return {{"start_positions"}, {"end_positions"}};
  }

 private:
  Value columns_of(const RowAnswer& answer) const;

  SpanRules rules_;
  bool version_2_;
  double threshold_;
  // Of predictions(): what the windows so far say of a question that has more.
  mutable std::optional<RowAnswer> unfinished_;
};

}  // namespace trivet::lm
