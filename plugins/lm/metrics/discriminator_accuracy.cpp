// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/discriminator_accuracy.h"

#include <optional>

#include "trivet/ops/host_array.h"

namespace trivet::lm {

void DiscriminatorAccuracy::update_state(const Batch& batch, const NestedMap& outputs) {
  const Tensor& logits = outputs.at("discriminator_logits");
  const HostArray<float> z(logits), replaced(outputs.at("replaced"));
  std::optional<HostArray<float>> paddings, rows;
  if (const Tensor* found = batch.find("paddings")) paddings.emplace(*found);
  if (const Tensor* found = batch.find("weight")) rows.emplace(*found);
  const std::int64_t length = logits.dim(1);
  for (std::int64_t i = 0; i < logits.size(); ++i) {
    if ((paddings && (*paddings)[i] != 0) || (rows && (*rows)[i / length] == 0)) continue;
    tokens_ += 1;
    replaced_ += replaced[i];
    right_ += (z[i] > 0) == (replaced[i] > 0) ? 1 : 0;
  }
}

Logs DiscriminatorAccuracy::result() const {
  Logs logs;
  if (tokens_ == 0) return logs;
  logs.set("discriminator_accuracy", right_ / tokens_);
  logs.set("replaced_tokens", replaced_ / tokens_);
  return logs;
}

void DiscriminatorAccuracy::reset_state() {
  tokens_ = right_ = replaced_ = 0;
}

Value DiscriminatorAccuracy::save_state() const {
  return Value::table({{"tokens", tokens_}, {"right", right_}, {"replaced", replaced_}});
}

void DiscriminatorAccuracy::restore_state(const Value& state) {
  reset_state();
  merge(state);
}

void DiscriminatorAccuracy::merge(const Value& state) {
  const auto number = [&](const char* name) {
    return state.at(name, "the saved state of the discriminator's accuracy").as_float();
  };
  const double tokens = number("tokens"), right = number("right"), replaced = number("replaced");
  tokens_ += tokens;
  right_ += right;
  replaced_ += replaced;
}

}  // namespace trivet::lm
