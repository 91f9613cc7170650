// SPDX-License-Identifier: Apache-2.0
#include "search/samplers/nsga2.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "search/samplers/random.h"
#include "trivet/search/pareto.h"

namespace trivet::search {
namespace {

// The factor beta of simulated binary crossover: the children are as far from the middle of their
// parents as beta says, in parts of the parents' distance.
double spread(double u, double eta) {
  return u <= 0.5 ? std::pow(2 * u, 1 / (eta + 1)) : std::pow(1 / (2 * (1 - u)), 1 / (eta + 1));
}

// The step of polynomial mutation, in (-1, 1).
double polynomial_step(double u, double eta) {
  return u < 0.5 ? std::pow(2 * u, 1 / (eta + 1)) - 1 : 1 - std::pow(2 * (1 - u), 1 / (eta + 1));
}

// The order of a front: the rows with the widest distance first.
std::vector<std::size_t> by_distance(const std::vector<std::vector<double>>& rows,
                                     const std::vector<std::size_t>& front) {
  const std::vector<double> distances = crowding_distances(rows, front);
  std::vector<std::size_t> order(front.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distances[a] > distances[b]; });
  for (std::size_t& place : order) place = front[place];
  return order;
}

}  // namespace

Nsga2::Nsga2(const Config& config, SamplerContext& context)
    : config_(config), space_(context.space), goals_(context.all_goals()), seed_(context.seed) {}

std::vector<std::vector<double>> Nsga2::parents(std::span<const Trial> history) const {
  std::vector<std::vector<double>> losses;
  std::vector<const Trial*> trials;
  for (const Trial& trial : history) {
    auto loss = final_losses(trial, goals_);
    if (!loss) continue;
    losses.push_back(std::move(*loss));
    trials.push_back(&trial);
  }
  const auto most = static_cast<std::size_t>(config_.population);
  if (trials.size() < most) return {};
  std::vector<std::vector<double>> units;
  for (const std::vector<std::size_t>& front : pareto_fronts(losses, most)) {
    for (const std::size_t row : by_distance(losses, front)) {
      if (units.size() < most) units.push_back(space_.unit(trials[row]->point));
    }
  }
  return units;
}

SearchPoint Nsga2::ask(std::int64_t number, std::span<const Trial> history) const {
  RandomStream draws(trial_key(seed_, number));
  const std::vector<std::vector<double>> best = parents(history);
  if (best.empty()) return space_.point(random_unit(space_.size(), draws));
  // A point that was tried says nothing new; a small space may have no other.
  constexpr int kAttempts = 20;
  for (int attempt = 1;; ++attempt) {
    SearchPoint point = space_.point(child(best, draws));
    const bool is_known = std::any_of(history.begin(), history.end(),
                                      [&](const Trial& trial) { return trial.point == point; });
    if (!is_known) return point;
    if (attempt == kAttempts) return space_.point(random_unit(space_.size(), draws));
  }
}

std::vector<double> Nsga2::pick(const std::vector<std::vector<double>>& parents,
                                RandomStream& draws) const {
  const auto any = [&] {
    return static_cast<std::size_t>(draws.uniform() * static_cast<double>(parents.size()));
  };
  const std::size_t one = any(), other = any();
  std::vector<double> unit = parents[std::min(one, other)];
  const std::vector<bool> active = space_.active(unit);
  for (std::size_t d = 0; d < unit.size(); ++d) {
    if (!active[d]) unit[d] = draws.uniform();
  }
  return unit;
}

std::vector<double> Nsga2::child(const std::vector<std::vector<double>>& parents,
                                 RandomStream& draws) const {
  std::vector<double> unit = pick(parents, draws);
  const bool crosses = draws.uniform() < config_.crossover_probability;
  const std::vector<double> other = crosses ? pick(parents, draws) : unit;
  const double mutation = 1 / static_cast<double>(unit.size());
  for (std::size_t d = 0; d < unit.size(); ++d) {
    const bool is_choice = space_.dimensions()[d].is_categorical();
    const double part = draws.uniform(), beta = spread(draws.uniform(), config_.crossover_eta);
    const double turn = draws.uniform();
    const double step = polynomial_step(draws.uniform(), config_.mutation_eta);
    if (part < 0.5 && is_choice) {
      unit[d] = other[d];
    } else if (part < 0.5) {
      const double side = part < 0.25 ? beta : -beta;
      unit[d] = (unit[d] + other[d]) / 2 + side * (other[d] - unit[d]) / 2;
    }
    if (turn < mutation) unit[d] = is_choice ? turn / mutation : unit[d] + step;
    unit[d] = std::clamp(unit[d], 0.0, 1.0);
  }
  return unit;
}

}  // namespace trivet::search
