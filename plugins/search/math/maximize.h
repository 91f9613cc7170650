// SPDX-License-Identifier: Apache-2.0
// Maximizes smooth functions in a box with NLopt.
#pragma once

#include <functional>
#include <vector>

namespace trivet::search {

struct Box {
  std::vector<double> low, high;
};

// Returns the function and, if `gradient` is not empty, its gradient. Must not throw. Minus
// infinity and NaN mean that there is no value.
using Maximized =
    std::function<double(const std::vector<double>& x, std::vector<double>& gradient)>;

// The best point found from `start`, which must be in the box; `start` itself if none is better.
//   climb: with gradients, by limited-memory BFGS
//   probe: without, by subplexes of the first width `step`
std::vector<double> climb(const Maximized& objective, const Box& box, std::vector<double> start,
                          int evaluations);
std::vector<double> probe(const Maximized& objective, const Box& box, std::vector<double> start,
                          double step, int evaluations);

}  // namespace trivet::search
