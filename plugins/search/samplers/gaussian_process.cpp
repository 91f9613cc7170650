// SPDX-License-Identifier: Apache-2.0
#include "search/samplers/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "search/math/acquisition.h"
#include "search/math/improvement_search.h"
#include "search/math/median_of.h"
#include "search/math/random_stream.h"

namespace trivet::search {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

double lie_of(Lie lie, const VectorXd& losses) {
  if (lie == Lie::best) return losses.minCoeff();
  return lie == Lie::mean ? losses.mean() : losses.maxCoeff();
}

void add_row(GpData& data, const VectorXd& features, double loss) {
  const Index row = data.x.rows();
  data.x.conservativeResize(row + 1, features.size());
  data.x.row(row) = features.transpose();
  data.y.conservativeResize(row + 1);
  data.y[row] = loss;
}

// The least mean that the model predicts at the tried points.
double least_mean(const GpModel& model, const GpData& data) {
  double least = std::numeric_limits<double>::infinity();
  for (Index i = 0; i < data.x.rows(); ++i) {
    least = std::min(least, model.predict(data.x.row(i).transpose()).mean);
  }
  return least;
}

// Points all over the cube, and some around the best ones so far.
std::vector<std::vector<double>> candidates(const SearchSpace& space,
                                            const std::vector<std::vector<double>>& best,
                                            std::int64_t count, RngKey key) {
  const SobolSequence everywhere(space.size(), key);
  std::vector<std::vector<double>> units;
  for (std::int64_t i = 0; i < count; ++i) {
    units.push_back(everywhere.point(static_cast<std::uint64_t>(i)));
  }
  RandomStream draws(key.fold("near"));
  constexpr int kNear = 20;
  constexpr double kWidth = 0.05;
  for (const std::vector<double>& center : best) {
    for (int i = 0; i < kNear; ++i) {
      std::vector<double> unit = center;
      for (double& x : unit) x = std::clamp(x + kWidth * draws.normal(), 0.0, 1.0);
      units.push_back(std::move(unit));
    }
  }
  return units;
}

// Coordinates of the trials with the least losses, at most three.
std::vector<std::vector<double>> best_units(const SearchSpace& space,
                                            std::span<const Trial> history, Goal goal) {
  std::vector<std::pair<double, const Trial*>> order;
  for (const Trial& trial : history) {
    if (const auto loss = final_loss(trial, goal)) order.emplace_back(*loss, &trial);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  order.resize(std::min<std::size_t>(3, order.size()));
  std::vector<std::vector<double>> units;
  for (const auto& entry : order) units.push_back(space.unit(entry.second->point));
  return units;
}

}  // namespace

VectorXd standardized(const std::vector<std::optional<double>>& losses) {
  std::vector<double> known;
  for (const auto& loss : losses) {
    if (loss) known.push_back(*loss);
  }
  const double median = median_of(known);
  const double best = *std::min_element(known.begin(), known.end());
  const double limit =
      median > best ? median + 5 * (median - best) : std::numeric_limits<double>::infinity();
  const double worst = std::min(limit, *std::max_element(known.begin(), known.end()));
  VectorXd y(static_cast<Index>(losses.size()));
  for (std::size_t i = 0; i < losses.size(); ++i) {
    y[static_cast<Index>(i)] = std::min(losses[i].value_or(worst), worst);
  }
  y.array() -= y.mean();
  const double deviation = std::sqrt(y.squaredNorm() / static_cast<double>(y.size()));
  return deviation > 0 ? VectorXd(y / deviation) : y;
}

GaussianProcess::GaussianProcess(const Config& config, SamplerContext& context)
    : config_(config),
      space_(context.space),
      goal_(context.goal),
      seed_(context.seed),
      encoding_(space_),
      startup_(space_.size(), RngKey(static_cast<std::uint64_t>(seed_)).fold("sobol")) {}

GpData GaussianProcess::ended_in(std::span<const Trial> history) const {
  GpData data;
  std::vector<std::optional<double>> losses;
  for (const Trial& trial : history) {
    if (trial.state == TrialState::running) continue;
    losses.push_back(final_loss(trial, goal_));
    add_row(data, encoding_.features(space_.unit(trial.point)), 0);
  }
  data.y = standardized(losses);
  for (Index f = 0; f < encoding_.size(); ++f) {
    data.dimension_of.push_back(encoding_.dimension_of(f));
  }
  return data;
}

void GaussianProcess::add_running(std::span<const Trial> history, GpData& data) const {
  const double lie = lie_of(config_.lie, data.y);
  for (const Trial& trial : history) {
    if (trial.state != TrialState::running) continue;
    add_row(data, encoding_.features(space_.unit(trial.point)), lie);
  }
}

SearchPoint GaussianProcess::ask(std::int64_t number, std::span<const Trial> history) const {
  const auto results = std::count_if(history.begin(), history.end(), [this](const Trial& trial) {
    return final_loss(trial, goal_).has_value();
  });
  if (results < config_.n_startup) {
    return space_.point(startup_.point(static_cast<std::uint64_t>(number)));
  }
  GpData data = ended_in(history);
  const GpParameters parameters = fit_gp(data);
  const double best = least_mean(GpModel(data, parameters), data);
  add_running(history, data);
  const GpModel model(data, parameters);
  const Score score = [&](const std::vector<double>& unit) {
    const Gaussian at = model.predict(
        encoding_.features(space_.is_conditional() ? space_.unit(space_.point(unit)) : unit));
    return log_expected_improvement(at.mean, std::sqrt(at.variance), best);
  };
  return space_.point(greatest(space_, score,
                               candidates(space_, best_units(space_, history, goal_),
                                          config_.n_candidates, trial_key(seed_, number)),
                               static_cast<std::size_t>(config_.n_restarts)));
}

}  // namespace trivet::search
