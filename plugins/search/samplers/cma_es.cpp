// SPDX-License-Identifier: Apache-2.0
#include "search/samplers/cma_es.h"

#include <algorithm>
#include <numbers>
#include <utility>
#include <vector>

#include <boost/math/special_functions/erf.hpp>

namespace trivet::search {
namespace {

using Eigen::VectorXd;

bool is_inside(const VectorXd& x) {
  return x.minCoeff() >= 0 && x.maxCoeff() <= 1;
}

// A normal around the middle of a cell leaves the cell with probability p if its standard deviation
// is 1 / (2 sqrt(2) erfc^-1(p)) cells.
double cells_left_with(double probability) {
  return 1 / (2 * std::numbers::sqrt2 * boost::math::erfc_inv(probability));
}

Eigen::Index lambda_of(const CmaEsConfig& config, Eigen::Index features) {
  if (config.population == 0) return default_lambda(features);
  return std::max<Eigen::Index>(2, config.population);
}

}  // namespace

CmaEs::CmaEs(const Config& config, SamplerContext& context)
    : space_(context.space),
      goal_(context.goal),
      seed_(context.seed),
      sigma0_(config.sigma0),
      encoding_(space_),
      parameters_(cma_parameters(encoding_.size(), lambda_of(config, encoding_.size()))),
      margin_(cells_left_with(1 / static_cast<double>(std::max<Eigen::Index>(2, encoding_.size()) *
                                                      parameters_.lambda))) {}

SearchPoint CmaEs::ask(std::int64_t number, std::span<const Trial> history) const {
  const CmaState state = state_after(history);
  RandomStream draws(trial_key(seed_, number));
  VectorXd x = state.draw(draws);
  for (int i = 0; i < 100 && !is_inside(x); ++i) x = state.draw(draws);
  return space_.point(encoding_.unit(x.cwiseMax(0).cwiseMin(1)));
}

CmaState CmaEs::state_after(std::span<const Trial> history) const {
  CmaState state(parameters_, VectorXd::Constant(encoding_.size(), 0.5), sigma0_);
  keep_margin(state);
  std::vector<std::pair<VectorXd, double>> generation;
  for (const Trial& trial : history) {
    const std::optional<double> loss = final_loss(trial, goal_);
    if (!loss) continue;
    generation.emplace_back(encoding_.features(space_.unit(trial.point)), *loss);
    if (static_cast<Eigen::Index>(generation.size()) < parameters_.lambda) continue;
    state.tell(std::exchange(generation, {}));
    keep_margin(state);
  }
  return state;
}

void CmaEs::keep_margin(CmaState& state) const {
  VectorXd least(encoding_.size());
  for (Eigen::Index i = 0; i < least.size(); ++i) {
    least[i] = margin_ * encoding_.cell_width(i, state.mean()[i]);
  }
  state.keep_wide(least);
}

}  // namespace trivet::search
