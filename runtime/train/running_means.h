// SPDX-License-Identifier: Apache-2.0
// What a trainer sums up between two lines of metrics, and saves with a checkpoint so that a run
// stopped in between continues the same sums.
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

// The mean of the losses. Where the processor can read device memory, losses are read as they come
// and summed in double. Elsewhere reading would wait for the device every step, so they are summed
// there, in f32, and read when somebody asks; so is the largest one, as nobody has looked at each.
class LossMean {
 public:
  explicit LossMean(Device& device);

  // `loss` is a scalar of the open step; `bounded`: it counts for largest().
  void add(const Tensor& loss, bool bounded);
  std::int64_t count() const { return count_; }
  double mean() const;  // NaN when there is none
  // Of the bounded losses; lowest where there is none, and where losses are read as they come.
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

// The mean of every named number, over the steps that had it.
class LogMeans {
 public:
  void add(const Logs& logs);
  Logs means() const;
  void reset() { sums_.clear(); }

  Value save_state() const;
  void restore_state(const Value& state);

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
