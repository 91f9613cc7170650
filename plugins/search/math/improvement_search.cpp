// SPDX-License-Identifier: Apache-2.0
#include "search/math/improvement_search.h"

#include <algorithm>
#include <utility>

#include "search/math/maximize.h"

namespace trivet::search {
namespace {

struct Scored {
  std::vector<double> unit;
  double score;
};

// All other choices; for integers the neighbors and those an eighth of the range away.
std::vector<double> other_cells(const Dimension& dimension, double unit) {
  std::vector<double> others;
  const auto [from, to] = dimension.cell(unit);
  const auto count = static_cast<double>(dimension.count());
  if (dimension.is_categorical()) {
    for (double middle = 0.5 / count; middle < 1; middle += 1 / count) {
      if (middle < from || middle > to) others.push_back(middle);
    }
    return others;
  }
  constexpr double kBeyond = 1e-9, kFar = 0.125;
  for (const double at : {from - kFar, from - kBeyond, to + kBeyond, to + kFar}) {
    if (at > 0 && at < 1) others.push_back(dimension.middle(at));
  }
  return others;
}

// Moves the numbers and keeps the cells.
void move_numbers(const SearchSpace& space, const Score& score, Scored& best) {
  std::vector<std::size_t> numbers;
  std::vector<double> start;
  for (std::size_t d = 0; d < space.size(); ++d) {
    if (!space.dimensions()[d].is_continuous()) continue;
    numbers.push_back(d);
    start.push_back(best.unit[d]);
  }
  if (numbers.empty()) return;
  std::vector<double> unit = best.unit;
  const auto location = [&](const std::vector<double>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) unit[numbers[i]] = x[i];
  };
  const Maximized objective = [&](const std::vector<double>& x, std::vector<double>&) {
    location(x);
    return score(unit);
  };
  const Box box{std::vector<double>(start.size(), 0.0), std::vector<double>(start.size(), 1.0)};
  constexpr double kStep = 0.05;
  const int evaluations = 40 * static_cast<int>(start.size());
  location(probe(objective, box, std::move(start), kStep, evaluations));
  const double reached = score(unit);
  if (reached > best.score) best = {unit, reached};
}

// Moves one cell at a time; returns whether another was better.
bool move_cells(const SearchSpace& space, const Score& score, Scored& best) {
  bool moved = false;
  for (std::size_t d = 0; d < space.size(); ++d) {
    if (space.dimensions()[d].is_continuous()) continue;
    for (const double other : other_cells(space.dimensions()[d], best.unit[d])) {
      std::vector<double> unit = best.unit;
      unit[d] = other;
      const double reached = score(unit);
      if (!(reached > best.score)) continue;
      best = {std::move(unit), reached};
      moved = true;
    }
  }
  return moved;
}

}  // namespace

std::vector<double> greatest(const SearchSpace& space, const Score& score,
                             std::vector<std::vector<double>> candidates, std::size_t restarts) {
  std::vector<Scored> starts;
  for (std::vector<double>& unit : candidates) {
    const double reached = score(unit);
    starts.push_back({std::move(unit), reached});
  }
  std::stable_sort(starts.begin(), starts.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  starts.resize(std::min(restarts, starts.size()));
  for (Scored& start : starts) {
    constexpr int kTurns = 4;
    for (int turn = 0; turn < kTurns; ++turn) {
      move_numbers(space, score, start);
      if (!move_cells(space, score, start)) break;
    }
  }
  const auto best =
      std::max_element(starts.begin(), starts.end(),
                       [](const Scored& a, const Scored& b) { return a.score < b.score; });
  return best->unit;
}

}  // namespace trivet::search
