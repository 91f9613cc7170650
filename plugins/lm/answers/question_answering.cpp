// SPDX-License-Identifier: Apache-2.0
#include "lm/answers/question_answering.h"

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "lm/answers/position_accuracy.h"
#include "lm/answers/squad_score.h"
#include "lm/metrics/real_rows.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::lm {
namespace {

constexpr const char* kOwner = "the state of an evaluation of answers";
// Null without a number.
Value score_value(double score) {
  return score == RowAnswer::kWorst ? Value() : Value(score);
}

double score_in(const Value& value) {
  return value.is_null() ? RowAnswer::kWorst : value.as_float();
}

// The best answers so far, by question.
struct Answers final : AggregatedLogs {
  std::map<std::int64_t, RowAnswer> of;

  void add(RowAnswer answer) {
    const auto found = of.find(answer.question);
    if (found != of.end()) {
      found->second.merge(std::move(answer));
    } else {
      const std::int64_t question = answer.question;
      of.emplace(question, std::move(answer));
    }
  }

  Value save_state() const override {
    Value all = Value::array();
    for (const auto& [number, answer] : of) {
      all.push_back(Value::table({{"question", number},
                                  {"text", answer.text},
                                  {"score", score_value(answer.score)},
                                  {"null_score", score_value(answer.null_score)},
                                  {"answers", Value::array_of(answer.answers)}}));
    }
    return Value::table({{"answers", std::move(all)}});
  }

  void merge(const Value& state) override {
    for (const Value& value : state.at("answers", kOwner).items()) {
      RowAnswer answer;
      answer.question = value.at("question", kOwner).as_integer();
      answer.text = value.at("text", kOwner).as_string();
      answer.score = score_in(value.at("score", kOwner));
      answer.null_score = score_in(value.at("null_score", kOwner));
      for (const Value& text : value.at("answers", kOwner).items()) {
        answer.answers.push_back(text.as_string());
      }
      add(std::move(answer));
    }
  }
};

}  // namespace

void QuestionAnsweringConfig::validate(Diagnostics& diagnostics) const {
  TextTaskConfig::validate(diagnostics);
  if (!version_2 && null_score_diff_threshold != 0) {
    diagnostics.add("null_score_diff_threshold", "has no effect without version_2");
  }
}

QuestionAnswering::QuestionAnswering(const Config& config, TaskContext& context)
    : TextTask(config, context),
      rules_{.n_best_size = config.n_best_size, .max_answer_length = config.max_answer_length},
      version_2_(config.version_2),
      threshold_(config.null_score_diff_threshold) {}

std::unique_ptr<Input> QuestionAnswering::build_inputs(const ConfigOf<Input>& config,
                                                       InputContext& context) {
  const Value* allowed = config.fields().find("version_2");
  if (!version_2_ && allowed != nullptr && allowed->is_boolean() && allowed->as_boolean()) {
    throw ConfigError(Diagnostic{.path = context.name + ".version_2",
                                 .what = "is true, but task.version_2 is false: the task would "
                                         "answer every question",
                                 .hint = "set task.version_2 = true"});
  }
  return TextTask::build_inputs(config, context);
}

WeightedScalar QuestionAnswering::build_losses(const Batch& batch, const NestedMap& outputs,
                                               const FpropContext& context) {
  if (!batch.contains("start_positions")) {
    throw UsageError("lm/QuestionAnswering: the data has no answers, so there is no loss",
                     {.hint = "program = \"infer\" of task.eval_inputs predicts answers alone"});
  }
  const Tensor& starts = outputs.at("start_logits");
  const std::vector<float> weights = row_weights(batch, starts.dim(0));
  const Tensor weight = Tensor::from<float>(starts.device(), weights, {std::ssize(weights)});
  const auto loss_of = [&](const Tensor& logits, const char* positions) {
    return ops::weighted_mean(ops::softmax_cross_entropy(logits, batch.at(positions)), weight);
  };
  const Tensor sum = ops::add(loss_of(starts, "start_positions"),
                              loss_of(outputs.at("end_logits"), "end_positions"));
  return {add_aux_losses(ops::mul(sum, 0.5F), context),
          std::accumulate(weights.begin(), weights.end(), 0.0)};
}

Metrics QuestionAnswering::build_metrics(Phase) {
  Metrics metrics;
  metrics.push_back(std::make_unique<PositionAccuracy>());
  return metrics;
}

std::unique_ptr<AggregatedLogs> QuestionAnswering::aggregate_logs(
    std::unique_ptr<AggregatedLogs> state, const StepOutput& step) {
  if (state == nullptr) state = std::make_unique<Answers>();
  for (auto& answer : row_answers(step.batch, step.outputs, rules_)) {
    if (answer) static_cast<Answers&>(*state).add(std::move(*answer));
  }
  return state;
}

Logs QuestionAnswering::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t) {
  std::vector<ScoredAnswer> scored;
  for (const auto& [number, answer] : static_cast<const Answers&>(state).of) {
    scored.push_back({answer.text, answer.null_difference(), answer.answers});
  }
  return squad_scores(scored, version_2_, threshold_);
}

ExpectedInitialLoss::Range QuestionAnswering::expected_initial_loss() const {
  const std::int64_t length = config().train_input.fields().integer_or("seq_len", 0);
  if (length < 1) {
    return {0, std::numeric_limits<double>::infinity(),
            "a loss that depends on the length of rows"};
  }
  Range range = chance_of(length);
  range.reason = fmt::format("ln({0}) = {1:.2f} for {0} positions", length,
                             std::log(static_cast<double>(length)));
  return range;
}

const void* QuestionAnswering::extension(std::string_view id) const noexcept {
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return TextTask::extension(id);
}

Value QuestionAnswering::columns_of(const RowAnswer& answer) const {
  const bool is_none = !answer.found() || (version_2_ && answer.null_difference() > threshold_);
  Value columns = Value::table({});
  columns.set("id", answer.id.empty() ? Value() : Value(answer.id));
  columns.set("answer", is_none ? std::string() : answer.text);
  columns.set("start", is_none ? Value() : Value(answer.start));
  columns.set("end", is_none ? Value() : Value(answer.end));
  columns.set("score", score_value(answer.score));
  columns.set("null_score", score_value(answer.null_score));
  return columns;
}

std::vector<Value> QuestionAnswering::predictions(const Batch& batch,
                                                  const NestedMap& outputs) const {
  std::vector<Value> columns;
  for (auto& answer : row_answers(batch, outputs, rules_)) {
    Value& row = columns.emplace_back();
    if (!answer) continue;
    const std::int64_t window = answer->window, windows = answer->windows;
    if (window == 0) {
      unfinished_ = std::move(*answer);
    } else if (unfinished_ && unfinished_->question == answer->question &&
               unfinished_->window + 1 == window) {
      unfinished_->window = window;
      unfinished_->merge(std::move(*answer));
    } else {
      throw UsageError(
          "lm/QuestionAnswering: the windows of a question do not follow each other, so its "
          "answer cannot be written",
          {.hint = "set shuffle = false in the input, and evaluate in one process"});
    }
    if (window + 1 < windows) continue;
    row = columns_of(*unfinished_);
    unfinished_.reset();
  }
  return columns;
}

}  // namespace trivet::lm
