// SPDX-License-Identifier: Apache-2.0
// Maxima of smooth functions in a box, found by NLopt.
#pragma once

#include <functional>
#include <vector>

namespace trivet::search {

struct Box {
  std::vector<double> low, high;
};

// The function and, where a gradient is asked for (it is not empty), its gradient. Must not throw;
// minus infinity or not a number say that there is no value here.
using Maximized =
    std::function<double(const std::vector<double>& x, std::vector<double>& gradient)>;

// The best point found from `start`, which lies in the box; `start` itself when nothing better is.
//   climb: with gradients, by limited-memory BFGS
//   probe: without, by subplexes of the first width `step`
std::vector<double> climb(const Maximized& objective, const Box& box, std::vector<double> start,
                          int evaluations);
std::vector<double> probe(const Maximized& objective, const Box& box, std::vector<double> start,
                          double step, int evaluations);

}  // namespace trivet::search
