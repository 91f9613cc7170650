// SPDX-License-Identifier: Apache-2.0
// The sums of a trainer between two lines of metrics. Checkpoints save them, so that a run that
// stops in between continues the same sums.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trivet/config/value.h"
#include "trivet/tensor.h"
#include "trivet/tensor/device.h"
#include "trivet/train/logs.h"

namespace trivet {

// The mean of the losses. If the CPU can read device memory, losses are read immediately and summed
// in double. Otherwise reading would wait for the device every step, so the sum and the maximum are
// computed on the device in f32 and read on demand.
class LossMean {
 public:
  explicit LossMean(Device& device);

  // `loss` is a scalar of the open step. `bounded`: it counts for largest().
  void add(const Tensor& loss, bool bounded);
  std::int64_t count() const { return count_; }
  double mean() const;  // NaN if there is none
  // The largest bounded loss. The lowest number if there is none or if losses are read immediately.
  double largest() const;
  void reset();

  Value save_state() const;
  void restore_state(const Value& state);

 private:
  double sum() const;

  bool on_host_;
  double host_sum_ = 0;
  Tensor device_sum_, device_largest_;  // f32 scalars, outlive steps
  std::int64_t count_ = 0;
};

// The mean of every named number over the steps that have it.
class LogMeans {
 public:
  void add(const Logs& logs);
  Logs means() const;
  void reset() { sums_.clear(); }

  Value save_state() const;
  void restore_state(const Value& state);
  // Adds the sums of a state to these.
  void merge(const Value& state);

 private:
  struct Sum {
    std::string name;
    double sum = 0;
    std::int64_t count = 0;
  };
  Sum& find(std::string_view name);

  std::vector<Sum> sums_;
};

}  // namespace trivet
