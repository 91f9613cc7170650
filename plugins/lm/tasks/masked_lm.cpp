// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/masked_lm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include "lm/metrics/next_sentence_scores.h"
#include "lm/metrics/token_metrics.h"
#include "lm/tasks/batch_decoding.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

// What the model predicts at some positions.
struct PredictedTokens {
  std::vector<std::int32_t> ids;
  std::vector<double> probabilities;  // empty if unknown
};

std::size_t likeliest_of(std::span<const float> logits) {
  const auto is_less = [](float a, float b) { return std::isnan(a) ? !std::isnan(b) : a < b; };
  return static_cast<std::size_t>(std::ranges::max_element(logits, is_less) - logits.begin());
}

// Of the softmax.
double probability_of(std::span<const float> logits, std::size_t id) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - logits[id]);
  return 1 / sum;
}

// `positions` index the rows of [B * T, ...].
PredictedTokens tokens_at(const NestedMap& outputs, const std::vector<std::int32_t>& positions) {
  PredictedTokens predicted;
  if (const Tensor* likeliest = outputs.find("per_example_argmax")) {
    const HostArray<std::int32_t> ids(*likeliest);
    for (const std::int32_t position : positions) predicted.ids.push_back(ids[position]);
    return predicted;
  }
  const Tensor& logits = outputs.at("logits");
  if (positions.empty()) return predicted;
  const std::int64_t classes = logits.dim(logits.rank() - 1);
  const Tensor chosen = ops::gather_rows(
      ops::reshape(logits, {logits.size() / classes, classes}),
      Tensor::from<std::int32_t>(logits.device(), positions, {std::ssize(positions)}));
  const HostArray<float> rows(chosen);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::span row(rows.data() + static_cast<std::int64_t>(i) * classes,
                        static_cast<std::size_t>(classes));
    const std::size_t id = likeliest_of(row);
    predicted.ids.push_back(static_cast<std::int32_t>(id));
    predicted.probabilities.push_back(probability_of(row, id));
  }
  return predicted;
}

bool has_next_sentence(const ConfigOf<Model>& model) {
  const Value* head = model.fields().find("next_sentence");
  if (head == nullptr || !head->is_table()) return false;
  const Value* enabled = head->find("enabled");
  return enabled != nullptr && enabled->is_boolean() && enabled->as_boolean();
}

std::vector<LossTerm> losses_of(const MaskedLmConfig& config) {
  if (!config.losses.empty() || !has_next_sentence(config.model)) return config.losses;
  return {{.name = "avg_xent"}, {.name = "next_sentence_loss"}};
}

}  // namespace

MaskedLm::MaskedLm(const Config& config, TaskContext& context)
    : TextTask(config, context, losses_of(config)),
      next_sentence_(has_next_sentence(config.model)) {}

ExpectedInitialLoss::Range MaskedLm::expected_initial_loss() const {
  Range range = TextTask::expected_initial_loss();
  if (!next_sentence_) return range;
  for (const LossTerm& term : loss_terms()) {
    if (term.name != "next_sentence_loss") continue;
    const double chance = term.weight * std::numbers::ln2;
    range.low += chance / 2;
    range.high += chance * 2;
    range.reason += ", and ln 2 for the next sentence";
  }
  return range;
}

Metrics MaskedLm::build_metrics(Phase) {
  TokenMetricsConfig config;
  config.accuracy = "masked_lm_accuracy";
  config.bits_per_byte = false;  // masked tokens alone do not measure the text
  Metrics metrics;
  metrics.push_back(std::make_unique<TokenMetrics>(config));
  if (next_sentence_) metrics.push_back(std::make_unique<NextSentenceScores>());
  return with_losses(std::move(metrics));
}

const void* MaskedLm::extension(std::string_view id) const noexcept {
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return TextTask::extension(id);
}

std::string MaskedLm::token_text(std::int32_t id) const {
  return tokenizer() != nullptr ? tokenizer()->decode({&id, 1}) : std::to_string(id);
}

std::vector<Value> MaskedLm::predictions(const Batch& batch, const NestedMap& outputs) const {
  const Tensor& weights = batch.at("weights");
  const HostArray<float> counts(weights);
  const std::int64_t length = weights.dim(1);
  std::vector<std::int32_t> positions;
  for (std::int64_t i = 0; i < weights.size(); ++i) {
    if (counts[i] > 0) positions.push_back(static_cast<std::int32_t>(i));
  }
  const PredictedTokens predicted = tokens_at(outputs, positions);
  std::vector<std::optional<TokenIds>> rows = unpadded_rows(batch, "ids", "paddings");
  std::vector<Value> columns(rows.size());
  std::size_t next = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::int64_t begin = static_cast<std::int64_t>(row) * length;
    std::vector<std::string> tokens;
    std::vector<double> probabilities;
    for (; next < positions.size() && positions[next] < begin + length; ++next) {
      if (!rows[row]) continue;
      tokens.push_back(token_text(predicted.ids[next]));
      if (!predicted.probabilities.empty()) {
        probabilities.push_back(predicted.probabilities[next]);
      }
      rows[row]->at(static_cast<std::size_t>(positions[next] - begin)) = predicted.ids[next];
    }
    if (!rows[row]) continue;
    columns[row] = Value::table({{"tokens", Value::array_of(tokens)}});
    if (outputs.contains("logits")) {
      columns[row].set("probabilities", Value::array_of(probabilities));
    }
    if (tokenizer() == nullptr) continue;
    columns[row].set(
        "text", text_of(*tokenizer(), *rows[row], tokenizer()->bos_id(), tokenizer()->eos_id()));
  }
  return columns;
}

}  // namespace trivet::lm
