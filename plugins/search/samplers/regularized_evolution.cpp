// SPDX-License-Identifier: Apache-2.0
#include "search/samplers/regularized_evolution.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "search/samplers/random.h"

namespace trivet::search {
namespace {

// One of 0 ... count - 1.
std::size_t any_of(std::size_t count, RandomStream& draws) {
  return static_cast<std::size_t>(draws.uniform() * static_cast<double>(count));
}

// The coordinate of another value than that at `unit`.
double other_coordinate(const Dimension& dimension, double unit, RandomStream& draws) {
  if (dimension.is_continuous()) return draws.uniform();
  // Of the whole line but the cell of the value, so that values are drawn as at random points.
  const auto [from, to] = dimension.cell(unit);
  const double at = draws.uniform() * (1 - (to - from));
  return at < from ? at : at + (to - from);
}

}  // namespace

void RegularizedEvolutionConfig::validate(Diagnostics& diagnostics) const {
  if (tournament <= population) return;
  diagnostics.add("tournament", "is more than population", "at most " + std::to_string(population));
}

RegularizedEvolution::RegularizedEvolution(const Config& config, SamplerContext& context)
    : config_(config), space_(context.space), goal_(context.goal), seed_(context.seed) {}

std::vector<RegularizedEvolution::Member> RegularizedEvolution::population(
    std::span<const Trial> history) const {
  std::vector<Member> members;
  for (const Trial& trial : history) {
    if (const auto loss = final_loss(trial, goal_)) members.push_back({&trial, *loss});
  }
  const std::ptrdiff_t dead = std::ssize(members) - config_.population;
  if (dead > 0) members.erase(members.begin(), members.begin() + dead);
  return members;
}

const SearchPoint& RegularizedEvolution::parent(std::vector<Member> population,
                                                RandomStream& draws) const {
  const auto drawn = static_cast<std::size_t>(config_.tournament);
  // Indexes, so that the youngest of equals is known after the draws.
  std::vector<std::size_t> indexes(population.size());
  for (std::size_t i = 0; i < indexes.size(); ++i) indexes[i] = i;
  for (std::size_t i = 0; i < drawn; ++i) {
    std::swap(indexes[i], indexes[i + any_of(indexes.size() - i, draws)]);
  }
  std::sort(indexes.begin(), indexes.begin() + static_cast<std::ptrdiff_t>(drawn));
  std::size_t best = indexes[0];
  for (std::size_t i = 1; i < drawn; ++i) {
    if (population[indexes[i]].loss <= population[best].loss) best = indexes[i];
  }
  return population[best].trial->point;
}

SearchPoint RegularizedEvolution::child(const SearchPoint& parent, RandomStream& draws) const {
  std::vector<double> unit = space_.unit(parent);
  const std::vector<bool> active = space_.active(unit);
  std::vector<std::size_t> mutable_keys;
  for (std::size_t d = 0; d < unit.size(); ++d) {
    if (!active[d]) {
      unit[d] = draws.uniform();
    } else if (space_.dimensions()[d].count() != 1) {
      mutable_keys.push_back(d);
    }
  }
  if (mutable_keys.empty()) return space_.point(unit);
  const std::size_t key = mutable_keys[any_of(mutable_keys.size(), draws)];
  unit[key] = other_coordinate(space_.dimensions()[key], unit[key], draws);
  SearchPoint point = space_.point(unit);
  // The other values are the parent's, not as their coordinates round them.
  for (auto& [path, value] : point) {
    const auto own = std::find_if(parent.begin(), parent.end(),
                                  [&path = path](const auto& one) { return one.first == path; });
    if (path != space_.dimensions()[key].path() && own != parent.end()) value = own->second;
  }
  return point;
}

SearchPoint RegularizedEvolution::ask(std::int64_t number, std::span<const Trial> history) const {
  RandomStream draws(trial_key(seed_, number));
  const std::vector<Member> members = population(history);
  if (std::ssize(members) < config_.population) {
    return space_.point(random_unit(space_.size(), draws));
  }
  constexpr int kAttempts = 20;
  for (int attempt = 1;; ++attempt) {
    SearchPoint point = child(parent(members, draws), draws);
    const bool is_known = std::any_of(history.begin(), history.end(),
                                      [&](const Trial& trial) { return trial.point == point; });
    if (!is_known || attempt == kAttempts) return point;
  }
}

}  // namespace trivet::search
