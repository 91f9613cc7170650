// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/next_sentence_scores.h"

#include <cmath>
#include <cstdint>
#include <optional>

#include "trivet/ops/host_array.h"

namespace trivet::lm {

void NextSentenceScores::update_state(const Batch& batch, const NestedMap& outputs) {
  const Tensor* logits = outputs.find("next_sentence_logits");
  const Tensor* labels = batch.find("next_sentence_label");
  if (logits == nullptr || labels == nullptr) return;
  const HostArray<float> z(*logits);
  const HostArray<std::int32_t> label(*labels);
  std::optional<HostArray<float>> weights;
  if (const Tensor* found = batch.find("weight")) weights.emplace(*found);
  for (std::int64_t i = 0; i < labels->size(); ++i) {
    if (weights && (*weights)[i] == 0) continue;
    // By how much the wrong class is ahead.
    const double ahead =
        static_cast<double>(z[2 * i + 1 - label[i]]) - static_cast<double>(z[2 * i + label[i]]);
    rows_ += 1;
    right_ += ahead < 0 ? 1 : 0;
    loss_ += ahead > 0 ? ahead + std::log1p(std::exp(-ahead)) : std::log1p(std::exp(ahead));
  }
}

Logs NextSentenceScores::result() const {
  Logs logs;
  if (rows_ == 0) return logs;
  logs.set("next_sentence_accuracy", right_ / rows_);
  logs.set("next_sentence_loss", loss_ / rows_);
  return logs;
}

void NextSentenceScores::reset_state() {
  rows_ = right_ = loss_ = 0;
}

Value NextSentenceScores::save_state() const {
  return Value::table({{"rows", rows_}, {"right", right_}, {"loss", loss_}});
}

void NextSentenceScores::restore_state(const Value& state) {
  reset_state();
  merge(state);
}

void NextSentenceScores::merge(const Value& state) {
  const auto number = [&](const char* name) {
    return state.at(name, "the saved state of the next-sentence scores").as_float();
  };
  const double rows = number("rows"), right = number("right"), loss = number("loss");
  rows_ += rows;
  right_ += right;
  loss_ += loss;
}

}  // namespace trivet::lm
