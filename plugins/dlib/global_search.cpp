// SPDX-License-Identifier: Apache-2.0
#include "global_search.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <optional>
#include <utility>

#include <dlib/global_optimization/global_function_search.h>

#include "trivet/tensor/random.h"

namespace trivet::dlib {
namespace {

using Evaluation = ::dlib::function_evaluation;
using Search = ::dlib::global_function_search;
using Variables = ::dlib::matrix<double, 0, 1>;

enum class Step { local, global, random };

// dlib divides by the range of each variable, so constant variables are not passed to it.
bool is_searched(const search::Dimension& dimension) {
  return dimension.count() != 1;
}

::dlib::function_spec spec_of(const search::SearchSpace& space) {
  std::vector<double> upper;
  std::vector<bool> is_integer;
  for (const search::Dimension& dimension : space.dimensions()) {
    if (!is_searched(dimension)) continue;
    is_integer.push_back(dimension.is_categorical());
    upper.push_back(dimension.is_categorical() ? static_cast<double>(dimension.count() - 1) : 1);
  }
  const Variables bounds = ::dlib::mat(upper);
  return {::dlib::zeros_matrix(bounds), bounds, is_integer};
}

Variables variables_of(const search::SearchSpace& space, std::span<const double> unit) {
  std::vector<double> variables;
  for (std::size_t d = 0; d < space.size(); ++d) {
    const search::Dimension& dimension = space.dimensions()[d];
    if (!is_searched(dimension)) continue;
    const auto count = static_cast<double>(dimension.count());
    variables.push_back(dimension.is_categorical() ? std::floor(unit[d] * count) : unit[d]);
  }
  return ::dlib::mat(variables);
}

search::SearchPoint point_of(const search::SearchSpace& space, const Variables& variables) {
  std::vector<double> unit;
  long next = 0;
  for (const search::Dimension& dimension : space.dimensions()) {
    const double variable = is_searched(dimension) ? variables(next++) : 0;
    const auto count = static_cast<double>(dimension.count());
    unit.push_back(dimension.is_categorical() ? (variable + 0.5) / count : variable);
  }
  return space.point(unit);
}

// The value for dlib to maximize. dlib squares values and accepts none below -1e300.
double value_of(double loss) {
  constexpr double kLargest = 1e100;
  return std::clamp(-loss, -kLargest, kLargest);
}

double value_of_nearest(const std::vector<Evaluation>& evaluations, const Variables& x) {
  double nearest = std::numeric_limits<double>::infinity(), value = 0;
  for (const Evaluation& evaluation : evaluations) {
    const double distance = ::dlib::length_squared(evaluation.x - x);
    if (distance >= nearest) continue;
    nearest = distance;
    value = evaluation.y;
  }
  return value;
}

// All trials of a history in dlib's terms.
struct Told {
  std::vector<std::vector<double>> units;
  std::vector<Evaluation> evaluations;
  long results = 0;
};

Told told_of(const search::SearchSpace& space, std::span<const search::Trial> history, Goal goal) {
  Told told;
  double worst = 0;
  for (const search::Trial& trial : history) {
    const std::optional<double> loss = search::final_loss(trial, goal);
    if (loss) worst = told.results++ == 0 ? value_of(*loss) : std::min(worst, value_of(*loss));
    told.units.push_back(space.unit(trial.point));
  }
  std::vector<Evaluation> running;
  for (std::size_t i = 0; i < history.size(); ++i) {
    Evaluation evaluation(variables_of(space, told.units[i]), worst);
    if (history[i].state == search::TrialState::running) {
      running.push_back(std::move(evaluation));
      continue;
    }
    if (const auto loss = search::final_loss(history[i], goal)) evaluation.y = value_of(*loss);
    told.evaluations.push_back(std::move(evaluation));
  }
  for (Evaluation& evaluation : running) {
    evaluation.y = value_of_nearest(told.evaluations, evaluation.x);
  }
  told.evaluations.insert(told.evaluations.end(), running.begin(), running.end());
  return told;
}

}  // namespace

GlobalSearch::GlobalSearch(const Config& config, search::SamplerContext& context)
    : config_(config), space_(context.space), goal_(context.goal), seed_(context.seed) {}

search::SearchPoint GlobalSearch::ask(std::int64_t number,
                                      std::span<const search::Trial> history) const {
  const Told told = told_of(space_, history, goal_);
  const ::dlib::function_spec spec = spec_of(space_);
  const long dimensions = spec.lower.size();
  if (dimensions == 0) return point_of(space_, {});
  Search search({spec}, {told.evaluations}, config_.relative_noise_magnitude);
  const RngKey key = RngKey(static_cast<std::uint64_t>(seed_)).fold("dlib");
  search.set_seed(
      static_cast<std::time_t>(key.fold(static_cast<std::uint64_t>(number)).value() >> 1));
  search.set_monte_carlo_upper_bound_sample_num(
      static_cast<std::size_t>(config_.monte_carlo_upper_bound_samples));
  Step step = number % 2 == 0 ? Step::local : Step::global;
  if (told.results < std::max(3L, dimensions)) step = Step::random;
  constexpr int kAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    search.set_solver_epsilon(step == Step::local ? config_.solver_epsilon
                                                  : std::numeric_limits<double>::infinity());
    search.set_pure_random_search_probability(
        step == Step::random ? 1 : config_.pure_random_search_probability);
    search::SearchPoint point = point_of(space_, search.get_next_x().x());
    const auto known = std::find(told.units.begin(), told.units.end(), space_.unit(point));
    if (known == told.units.end() || attempt == kAttempts) return point;
    step = step == Step::local ? Step::global : Step::random;
  }
}

}  // namespace trivet::dlib
