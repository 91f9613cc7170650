// SPDX-License-Identifier: Apache-2.0
// Sequences of recurrent ops in double, position by position.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "sdk/ops/op_case.h"
#include "trivet/recurrent/scan.h"

namespace trivet::test {

inline constexpr std::int64_t kBatch = 2, kTime = 5, kUnits = 3;

inline double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// Which positions of [kBatch, kTime] start a segment, and which are padding.
struct Marks {
  bool starts, paddings, reverse;

  static double start(std::int64_t b, std::int64_t t) { return (b + t) % 3 == 2 ? 1 : 0; }
  static double padding(std::int64_t b, std::int64_t t) {
    return t == 1 ? 1 : t == 3 && b == 1 ? 0.25 : 0;
  }
  ScanOptions options(Device& device) const {
    const auto tensor = [&](double (*mark)(std::int64_t, std::int64_t)) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < kBatch * kTime; ++i) {
        values.push_back(static_cast<float>(mark(i / kTime, i % kTime)));
      }
      return Tensor::from<float>(device, values, {kBatch, kTime});
    };
    return {.reverse = reverse,
            .starts = starts ? tensor(start) : Tensor(),
            .paddings = paddings ? tensor(padding) : Tensor()};
  }
  std::string name() const {
    return std::string(reverse ? " reverse" : "") + (starts ? " starts" : "") +
           (paddings ? " paddings" : "");
  }
};

inline std::vector<Marks> all_marks() {
  return {{false, false, false}, {true, false, false}, {false, true, true}, {true, true, true}};
}

// States of one row: some tensors of kUnits numbers each.
using States = std::vector<std::vector<double>>;

// Calls step(b, t, states) for each row b and position t, in the order of the positions, and
// after(b, t, states) with the states after it. `step` returns those without padding.
inline void each_position(
    const Marks& marks, const std::function<States(std::int64_t)>& first,
    const std::function<States(std::int64_t, std::int64_t, const States&)>& step,
    const std::function<void(std::int64_t, std::int64_t, const States&)>& after) {
  for (std::int64_t b = 0; b < kBatch; ++b) {
    States states = first(b);
    for (std::int64_t i = 0; i < kTime; ++i) {
      const std::int64_t t = marks.reverse ? kTime - 1 - i : i;
      const double kept = marks.starts ? 1 - Marks::start(b, t) : 1;
      const double p = marks.paddings ? Marks::padding(b, t) : 0;
      for (auto& state : states) {
        for (double& x : state) x *= kept;
      }
      const States next = step(b, t, states);
      for (std::size_t k = 0; k < states.size(); ++k) {
        for (std::size_t j = 0; j < states[k].size(); ++j) {
          states[k][j] = p * states[k][j] + (1 - p) * next[k][j];
        }
      }
      after(b, t, states);
    }
  }
}

inline std::vector<double> row_of(const Array& states, std::int64_t b) {
  std::vector<double> out;
  for (std::int64_t j = 0; j < kUnits; ++j) out.push_back(states.at({b, j}));
  return out;
}

// state w, of one column.
inline double product(const std::vector<double>& state, const Array& w, std::int64_t column) {
  double sum = 0;
  for (std::size_t k = 0; k < state.size(); ++k) {
    sum += state[k] * w.at({static_cast<std::int64_t>(k), column});
  }
  return sum;
}

}  // namespace trivet::test
