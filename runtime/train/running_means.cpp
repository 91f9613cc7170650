// SPDX-License-Identifier: Apache-2.0
#include "train/running_means.h"

#include <limits>

#include "checkpoint/state_value.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();

void set(Tensor& scalar, float value) {
  scalar.assign_bytes(std::as_bytes(std::span(&value, 1)));
}

// Does not wait for the device.
void copy(Tensor& to, const Tensor& from) {
  Device& device = to.device();
  device.call("transfer", &tv_backend::transfer, to.mutable_view().data, from.view().data,
              sizeof(float), TV_DEVICE_TO_DEVICE);
}

}  // namespace

LossMean::LossMean(Device& device) : on_host_(device.host_visible()) {
  if (on_host_) return;
  device_sum_ = Tensor::zeros(device, {});
  device_largest_ = Tensor::zeros(device, {});
  set(device_largest_, kLowest);
}

void LossMean::add(const Tensor& loss, bool bounded) {
  ++count_;
  if (on_host_) {
    host_sum_ += loss.item();
    return;
  }
  NoGrad no_grad;
  copy(device_sum_, ops::add(device_sum_, loss));
  if (bounded) copy(device_largest_, ops::max(device_largest_, loss));
}

double LossMean::sum() const {
  return on_host_ ? host_sum_ : device_sum_.item();
}

double LossMean::mean() const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return sum() / static_cast<double>(count_);
}

double LossMean::largest() const {
  return on_host_ ? kLowest : device_largest_.item();
}

void LossMean::reset() {
  count_ = 0;
  host_sum_ = 0;
  if (on_host_) return;
  set(device_sum_, 0);
  set(device_largest_, kLowest);
}

Value LossMean::save_state() const {
  Value state = Value::table({{"sum", sum()}, {"count", count_}});
  if (!on_host_) state.set("largest", largest());
  return state;
}

void LossMean::restore_state(const Value& state) {
  count_ = member(state, "count").as_integer();
  host_sum_ = member(state, "sum").as_float();
  if (on_host_) return;
  set(device_sum_, static_cast<float>(host_sum_));
  const Value* largest = state.find("largest");  // the host, and older checkpoints, have none
  set(device_largest_, largest != nullptr ? static_cast<float>(largest->as_float()) : kLowest);
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
  merge(state);
}

// A name that is new here takes the sum as it is.
void LogMeans::merge(const Value& state) {
  for (const Value& entry : state.items()) {
    Sum& sum = find(member(entry, "name").as_string());
    const double more = member(entry, "sum").as_float();
    sum.sum = sum.count == 0 ? more : sum.sum + more;
    sum.count += member(entry, "count").as_integer();
  }
}

}  // namespace trivet
