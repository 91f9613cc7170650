// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace trivet::lm {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// NaN ranks last, with ties.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto less = [&](std::size_t a, std::size_t b) {
    return std::isnan(values[b]) ? !std::isnan(values[a]) : values[a] < values[b];
  };
  std::stable_sort(order.begin(), order.end(), less);
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && !less(order[begin], order[end])) ++end;
    const double shared = static_cast<double>(begin + end - 1) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = shared;
  }
  return ranks;
}

}  // namespace

double pearson(std::span<const double> a, std::span<const double> b) {
  if (a.empty()) return 0;
  const double mean_a = mean(a), mean_b = mean(b);
  double both = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    of_a += (a[i] - mean_a) * (a[i] - mean_a);
    of_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return of_a == 0 || of_b == 0 ? 0 : both / std::sqrt(of_a) / std::sqrt(of_b);
}

double spearman(std::span<const double> a, std::span<const double> b) {
  return pearson(ranks(a), ranks(b));
}

}  // namespace trivet::lm
