// SPDX-License-Identifier: Apache-2.0
#include "train/running_means.h"

#include <limits>

#include "train/state_value.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet {

LossMean::LossMean(Device& device) : on_host_(device.host_visible()) {
  if (!on_host_) device_sum_ = Tensor::zeros(device, {});
}

void LossMean::add(const Tensor& loss) {
  ++count_;
  if (on_host_) {
    host_sum_ += loss.item();
    return;
  }
  NoGrad no_grad;
  const Tensor sum = ops::add(device_sum_, loss);
  Device& device = device_sum_.device();
  device.check(device.table().transfer(device.context(), device_sum_.mutable_view().data,
                                       sum.view().data, sizeof(float), TV_DEVICE_TO_DEVICE),
               "transfer");
}

double LossMean::sum() const {
  return on_host_ ? host_sum_ : device_sum_.item();
}

double LossMean::mean() const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return sum() / static_cast<double>(count_);
}

void LossMean::reset() {
  count_ = 0;
  host_sum_ = 0;
  if (on_host_) return;
  const float zero = 0;
  device_sum_.assign_bytes(std::as_bytes(std::span(&zero, 1)));
}

Value LossMean::save_state() const {
  return Value::table({{"sum", sum()}, {"count", count_}});
}

void LossMean::restore_state(const Value& state) {
  count_ = member(state, "count").as_integer();
  host_sum_ = member(state, "sum").as_number();
  if (on_host_) return;
  const auto sum = static_cast<float>(host_sum_);
  device_sum_.assign_bytes(std::as_bytes(std::span(&sum, 1)));
}

LogMeans::Sum& LogMeans::find(std::string_view name) {
  for (Sum& sum : sums_) {
    if (sum.name == name) return sum;
  }
  return sums_.emplace_back(Sum{.name = std::string(name)});
}

void LogMeans::add(const Logs& logs) {
  for (const auto& [name, number] : logs) {
    Sum& sum = find(name);
    sum.sum += number;
    ++sum.count;
  }
}

Logs LogMeans::means() const {
  Logs logs;
  for (const Sum& sum : sums_) logs.set(sum.name, sum.sum / static_cast<double>(sum.count));
  return logs;
}

Value LogMeans::save_state() const {
  Value state = Value::array();
  for (const Sum& sum : sums_) {
    state.push_back(Value::table({{"name", sum.name}, {"sum", sum.sum}, {"count", sum.count}}));
  }
  return state;
}

void LogMeans::restore_state(const Value& state) {
  sums_.clear();
  for (const Value& entry : state.items()) {
    sums_.push_back({member(entry, "name").as_text(), member(entry, "sum").as_number(),
                     member(entry, "count").as_integer()});
  }
}

}  // namespace trivet
