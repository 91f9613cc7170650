// SPDX-License-Identifier: Apache-2.0
#include "train/log_means.h"

#include "checkpoint/state_value.h"

namespace trivet {

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
    sums_.push_back({member(entry, "name").as_string(), member(entry, "sum").as_float(),
                     member(entry, "count").as_integer()});
  }
}

}  // namespace trivet
