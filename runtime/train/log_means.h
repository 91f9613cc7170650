// SPDX-License-Identifier: Apache-2.0
// LogMeans: what a trainer averages of a step's logs between two lines of metrics, and saves with a
// checkpoint so that a run stopped in between continues the same sums.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/value.h"
#include "trivet/train/logs.h"

namespace trivet {

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
