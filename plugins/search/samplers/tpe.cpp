// SPDX-License-Identifier: Apache-2.0
#include "search/samplers/tpe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include "search/samplers/random.h"

namespace trivet::search {
namespace {

// Less is better: complete trials first, then stopped ones, then the rest.
std::tuple<int, std::int64_t, double> rank_of(const Trial& trial, Goal goal) {
  const std::optional<double> loss = final_loss(trial, goal);
  if (!loss) return {2, 0, 0};
  if (trial.state == TrialState::complete) return {0, 0, *loss};
  const std::int64_t reached = trial.measurements.empty() ? 0 : trial.measurements.back().step;
  return {1, -reached, *loss};
}

std::size_t results_in(std::span<const Trial> history, Goal goal) {
  return static_cast<std::size_t>(
      std::count_if(history.begin(), history.end(),
                    [goal](const Trial& trial) { return final_loss(trial, goal).has_value(); }));
}

}  // namespace

std::size_t tpe_below(std::size_t n, const TpeConfig& config) {
  const double part = std::ceil(config.gamma * static_cast<double>(n));
  return std::min(static_cast<std::size_t>(part), static_cast<std::size_t>(config.max_below));
}

std::vector<double> tpe_weights(std::size_t n) {
  constexpr std::size_t kFlat = 25;
  std::vector<double> weights(n, 1.0);
  if (n <= kFlat) return weights;
  const double oldest = 1 / static_cast<double>(n);
  const std::size_t falling = n - kFlat;
  for (std::size_t i = 0; i < falling; ++i) {
    const double way = falling == 1 ? 0 : static_cast<double>(i) / static_cast<double>(falling - 1);
    weights[i] = oldest + way * (1 - oldest);
  }
  return weights;
}

TpeSplit tpe_split(std::span<const Trial> history, Goal goal, const TpeConfig& config) {
  std::vector<std::size_t> order(history.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rank_of(history[a], goal) < rank_of(history[b], goal);
  });
  const auto below =
      order.begin() + static_cast<std::ptrdiff_t>(tpe_below(results_in(history, goal), config));
  std::sort(order.begin(), below);
  std::sort(below, order.end());
  return {{order.begin(), below}, {below, order.end()}};
}

Tpe::Tpe(const Config& config, SamplerContext& context)
    : config_(config), space_(context.space), goal_(context.goal), seed_(context.seed) {}

SearchPoint Tpe::ask(std::int64_t number, std::span<const Trial> history) const {
  RandomStream draws(trial_key(seed_, number));
  if (results_in(history, goal_) < static_cast<std::size_t>(config_.n_startup)) {
    return space_.point(random_unit(space_.size(), draws));
  }
  std::vector<double> unit(space_.size());
  for (const std::vector<std::size_t>& group : space_.groups()) {
    if (!space_.is_conditional()) {
      choose(group, history, draws, unit);
    } else {
      choose(group, trials_with(group.front(), history), draws, unit);
    }
  }
  return space_.point(unit);
}

std::vector<Trial> Tpe::trials_with(std::size_t dimension, std::span<const Trial> history) const {
  std::vector<Trial> trials;
  for (const Trial& trial : history) {
    if (space_.active(space_.unit(trial.point))[dimension]) trials.push_back(trial);
  }
  return trials;
}

// Until enough trials had the group its coordinates are random.
void Tpe::choose(const std::vector<std::size_t>& group, std::span<const Trial> history,
                 RandomStream& draws, std::vector<double>& unit) const {
  if (results_in(history, goal_) < static_cast<std::size_t>(config_.n_startup)) {
    for (const std::size_t dimension : group) unit[dimension] = draws.uniform();
    return;
  }
  std::vector<std::vector<double>> units;
  for (const Trial& trial : history) units.push_back(space_.unit(trial.point));
  const TpeSplit split = tpe_split(history, goal_, config_);
  const auto set = [&](const std::vector<std::size_t>& dimensions) {
    const std::vector<double> found = best_of(estimator(dimensions, split.below, units),
                                              estimator(dimensions, split.above, units), draws);
    for (std::size_t i = 0; i < dimensions.size(); ++i) unit[dimensions[i]] = found[i];
  };
  if (config_.multivariate) return set(group);
  for (const std::size_t dimension : group) set({dimension});
}

ParzenEstimator Tpe::estimator(const std::vector<std::size_t>& dimensions,
                               const std::vector<std::size_t>& trials,
                               const std::vector<std::vector<double>>& units) const {
  std::vector<const Dimension*> chosen;
  for (const std::size_t d : dimensions) chosen.push_back(&space_.dimensions()[d]);
  std::vector<std::vector<double>> observations;
  for (const std::size_t trial : trials) {
    std::vector<double>& row = observations.emplace_back();
    for (const std::size_t d : dimensions) row.push_back(units[trial][d]);
  }
  return {std::move(chosen), observations, tpe_weights(trials.size()), config_.prior_weight};
}

std::vector<double> Tpe::best_of(const ParzenEstimator& below, const ParzenEstimator& above,
                                 RandomStream& draws) const {
  std::vector<double> best;
  double best_score = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < config_.n_ei_candidates; ++i) {
    std::vector<double> unit = below.draw(draws);
    const double score = below.log_density(unit) - above.log_density(unit);
    if (!best.empty() && !(score > best_score)) continue;
    best_score = score;
    best = std::move(unit);
  }
  return best;
}

}  // namespace trivet::search
