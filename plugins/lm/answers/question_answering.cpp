// SPDX-License-Identifier: Apache-2.0
#include "lm/answers/question_answering.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "lm/answers/position_accuracy.h"
#include "lm/answers/squad_score.h"
#include "lm/metrics/real_rows.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

constexpr const char* kOwner = "the state of an evaluation of answers";
constexpr double kWorst = -std::numeric_limits<double>::infinity();

// What a row says about its question.
struct RowAnswer {
  std::int64_t question = 0;
  std::string text;
  double score = kWorst;  // of the text; -infinity without one
  double null_score = 0;
  std::vector<std::string> answers;  // the right ones
};

// Null without a text.
Value score_value(const RowAnswer& answer) {
  return answer.score == kWorst ? Value() : Value(answer.score);
}

double score_in(const Value& value) {
  return value.is_null() ? kWorst : value.as_float();
}

// The row of a tensor [B, N].
template <class T>
std::span<const T> row_of(const HostArray<T>& values, const Tensor& tensor, std::int64_t row) {
  const std::int64_t width = tensor.dim(1);
  return {values.data() + row * width, static_cast<std::size_t>(width)};
}

// The texts before each zero, until an empty one.
std::vector<std::string> texts_of(std::span<const std::uint8_t> bytes) {
  std::vector<std::string> texts;
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (byte != 0) {
      text += static_cast<char>(byte);
      continue;
    }
    if (text.empty()) break;
    texts.push_back(std::exchange(text, {}));
  }
  if (!text.empty()) texts.push_back(std::move(text));
  return texts;
}

// Nothing for rows of weight 0.
std::vector<std::optional<RowAnswer>> row_answers(const Batch& batch, const NestedMap& outputs,
                                                  const SpanRules& rules) {
  const Tensor &starts = outputs.at("start_logits"), &ends = outputs.at("end_logits"),
               &begins = batch.at("token_begin"), &token_ends = batch.at("token_end"),
               &best = batch.at("best_context"), &contexts = batch.at("context");
  const HostArray<float> start(starts), end(ends), is_best(best);
  const HostArray<std::int32_t> begin(begins), token_end(token_ends), number(batch.at("question"));
  const HostArray<std::uint8_t> bytes(contexts);
  const Tensor* given = batch.find("answers");
  std::optional<HostArray<std::uint8_t>> answers;
  if (given != nullptr) answers.emplace(*given);
  std::vector<std::optional<RowAnswer>> rows;
  for (const bool is_real : real_rows(batch, starts.dim(0))) {
    const std::int64_t row = std::ssize(rows);
    std::optional<RowAnswer>& made = rows.emplace_back();
    if (!is_real) continue;
    RowAnswer& answer = made.emplace();
    answer.question = number[row];
    const auto start_logits = row_of(start, starts, row), end_logits = row_of(end, ends, row);
    answer.null_score = static_cast<double>(start_logits[0]) + end_logits[0];
    const AnswerSpan span = best_span({.start_logits = start_logits,
                                       .end_logits = end_logits,
                                       .token_begin = row_of(begin, begins, row),
                                       .token_end = row_of(token_end, token_ends, row),
                                       .best_context = row_of(is_best, best, row)},
                                      rules);
    if (span.found) {
      const auto context = row_of(bytes, contexts, row);
      answer.text.assign(context.begin() + span.begin, context.begin() + span.end);
      answer.score = span.score;
    }
    if (answers) answer.answers = texts_of(row_of(*answers, *given, row));
  }
  return rows;
}

// The best answers so far, by question.
struct Answers final : AggregatedLogs {
  std::map<std::int64_t, RowAnswer> of;

  void add(RowAnswer answer) {
    const auto [found, is_new] = of.try_emplace(answer.question, answer);
    if (is_new) return;
    RowAnswer& known = found->second;
    known.null_score = std::min(known.null_score, answer.null_score);
    if (answer.score <= known.score) return;
    known.score = answer.score;
    known.text = std::move(answer.text);
  }

  Value save_state() const override {
    Value all = Value::array();
    for (const auto& [number, answer] : of) {
      all.push_back(Value::table({{"question", number},
                                  {"text", answer.text},
                                  {"score", score_value(answer)},
                                  {"null_score", answer.null_score},
                                  {"answers", Value::array_of(answer.answers)}}));
    }
    return Value::table({{"answers", std::move(all)}});
  }

  void merge(const Value& state) override {
    for (const Value& value : state.at("answers", kOwner).items()) {
      RowAnswer answer{.question = value.at("question", kOwner).as_integer(),
                       .text = value.at("text", kOwner).as_string(),
                       .score = score_in(value.at("score", kOwner)),
                       .null_score = value.at("null_score", kOwner).as_float(),
                       .answers = {}};
      for (const Value& text : value.at("answers", kOwner).items()) {
        answer.answers.push_back(text.as_string());
      }
      add(std::move(answer));
    }
  }
};

}  // namespace

void QuestionAnsweringConfig::validate(Diagnostics& diagnostics) const {
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
    scored.push_back({answer.text, answer.null_score - answer.score, answer.answers});
  }
  return squad_scores(scored, version_2_, threshold_);
}

ExpectedInitialLoss::Range QuestionAnswering::expected_initial_loss() const {
  return {0, std::numeric_limits<double>::infinity(), "a loss that depends on the length of rows"};
}

const void* QuestionAnswering::extension(std::string_view id) const noexcept {
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return TextTask::extension(id);
}

std::vector<Value> QuestionAnswering::predictions(const Batch& batch,
                                                  const NestedMap& outputs) const {
  std::vector<Value> columns;
  for (const auto& answer : row_answers(batch, outputs, rules_)) {
    Value& row = columns.emplace_back();
    if (!answer) continue;
    const bool is_null = version_2_ && answer->null_score - answer->score > threshold_;
    row = Value::table({{"answer", is_null ? std::string() : answer->text}});
    row.set("score", score_value(*answer));
    row.set("null_score", answer->null_score);
  }
  return columns;
}

}  // namespace trivet::lm
