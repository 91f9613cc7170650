// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/strict_accuracy.h"

#include <vector>

#include "lm/metrics/real_rows.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {

void StrictAccuracy::update_state(const Batch& batch, const NestedMap& outputs) {
  const Tensor* predicted = outputs.find("per_example_argmax");
  if (predicted == nullptr) return;
  const HostArray<std::int32_t> classes(*predicted), labels(batch.at("labels"));
  const HostArray<float> weights(batch.at("weights"));
  const std::int64_t length = predicted->dim(1);
  const std::vector<bool> is_real = real_rows(batch, predicted->dim(0));
  for (std::int64_t row = 0; row < predicted->dim(0); ++row) {
    if (!is_real[static_cast<std::size_t>(row)]) continue;
    bool counts = false, right = true;
    for (std::int64_t i = row * length; i < (row + 1) * length; ++i) {
      if (!(weights[i] > 0)) continue;
      counts = true;
      right = right && classes[i] == labels[i];
    }
    rows_ += counts ? 1 : 0;
    right_ += counts && right ? 1 : 0;
  }
}

Logs StrictAccuracy::result() const {
  Logs logs;
  if (rows_ > 0) logs.set("acc_strict", static_cast<double>(right_) / static_cast<double>(rows_));
  return logs;
}

Value StrictAccuracy::save_state() const {
  return Value::table({{"right", right_}, {"rows", rows_}});
}

void StrictAccuracy::restore_state(const Value& state) {
  reset_state();
  merge(state);
}

void StrictAccuracy::merge(const Value& state) {
  constexpr const char* kOwner = "the saved state of the strict accuracy";
  right_ += state.at("right", kOwner).as_integer();
  rows_ += state.at("rows", kOwner).as_integer();
}

}  // namespace trivet::lm
