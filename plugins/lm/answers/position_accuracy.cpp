// SPDX-License-Identifier: Apache-2.0
#include "lm/answers/position_accuracy.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "lm/metrics/real_rows.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

double count_right(const Tensor& logits, const Tensor& positions, const std::vector<bool>& real) {
  const HostArray<float> values(logits);
  const HostArray<std::int32_t> right(positions);
  const std::int64_t length = logits.dim(1);
  double count = 0;
  for (std::int64_t row = 0; row < logits.dim(0); ++row) {
    if (!real[static_cast<std::size_t>(row)]) continue;
    const float* const first = values.data() + row * length;
    count += std::max_element(first, first + length) - first == right[row] ? 1 : 0;
  }
  return count;
}

}  // namespace

void PositionAccuracy::update_state(const Batch& batch, const NestedMap& outputs) {
  const Tensor& starts = outputs.at("start_logits");
  const std::vector<bool> real = real_rows(batch, starts.dim(0));
  starts_ += count_right(starts, batch.at("start_positions"), real);
  ends_ += count_right(outputs.at("end_logits"), batch.at("end_positions"), real);
  rows_ += static_cast<double>(std::ranges::count_if(real, std::identity()));
}

Logs PositionAccuracy::result() const {
  Logs logs;
  if (rows_ == 0) return logs;
  logs.set("start_position_accuracy", starts_ / rows_);
  logs.set("end_position_accuracy", ends_ / rows_);
  return logs;
}

Value PositionAccuracy::save_state() const {
  return Value::table({{"starts", starts_}, {"ends", ends_}, {"rows", rows_}});
}

void PositionAccuracy::restore_state(const Value& state) {
  reset_state();
  merge(state);
}

void PositionAccuracy::merge(const Value& state) {
  const auto number = [&](const char* name) {
    return state.at(name, "the saved state of the accuracy of positions").as_float();
  };
  const double starts = number("starts"), ends = number("ends"), rows = number("rows");
  starts_ += starts;
  ends_ += ends;
  rows_ += rows;
}

}  // namespace trivet::lm
