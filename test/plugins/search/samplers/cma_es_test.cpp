// SPDX-License-Identifier: Apache-2.0
// The evolution strategy: Hansen's parameters, and its results.
#include "search/samplers/cma_es.h"

#include <cmath>

#include <Eigen/Eigenvalues>
#include <catch2/catch.hpp>

#include "plugins/search/study.h"

using namespace trivet;
using namespace trivet::test;
using Eigen::VectorXd;
using search::CmaState;

namespace {

// The least value after the given generations, and its point.
template <class F>
std::pair<double, VectorXd> minimize(CmaState& state, Eigen::Index lambda, int generations, F f) {
  search::RandomStream draws{RngKey(7)};
  std::pair<double, VectorXd> best{INFINITY, {}};
  for (int g = 0; g < generations; ++g) {
    std::vector<std::pair<VectorXd, double>> points;
    for (Eigen::Index i = 0; i < lambda; ++i) {
      const VectorXd x = state.draw(draws);
      points.emplace_back(x, f(x));
      if (points.back().second < best.first) best = {points.back().second, x};
    }
    state.tell(points);
  }
  return best;
}

}  // namespace

TEST_CASE("the parameters of the evolution strategy match Hansen's table 1") {
  // For n = 2, by hand: lambda = 4 + floor(3 ln 2), w' = ln 3.5 - ln i, then equations 49 to 58.
  REQUIRE(search::default_lambda(2) == 6);
  const auto p = search::cma_parameters(2, 6);
  CHECK(p.mu == 3);
  const double weights[] = {0.6370426, 0.2845703, 0.0783872, -0.2863838, -0.7649581, -1.1559818};
  for (int i = 0; i < 6; ++i) CHECK(p.weights[i] == Approx(weights[i]).epsilon(1e-6));
  CHECK(p.mu_eff == Approx(2.0286115));
  CHECK(p.c_sigma == Approx(0.4462050));
  CHECK(p.d_sigma == Approx(1.4462050));
  CHECK(p.c_c == Approx(0.6245545));
  CHECK(p.c_1 == Approx(0.1548154));
  CHECK(p.c_mu == Approx(0.0855928));
  // sqrt(pi / 2), the mean length in the plane, to the accuracy of the formula.
  CHECK(p.chi_n == Approx(1.2533).epsilon(2e-3));
  CHECK(search::default_lambda(10) == 10);
  CHECK(search::default_lambda(1) == 4);
}

TEST_CASE("one generation moves the mean to the weighted best points") {
  const auto p = search::cma_parameters(2, 6);
  CmaState state(p, VectorXd::Zero(2), 1);
  std::vector<std::pair<VectorXd, double>> points;
  for (int i = 5; i >= 0; --i) {
    points.emplace_back(Eigen::Vector2d(0.1 * (i + 1), -0.2 * (i + 1)), i);
  }
  state.tell(points);
  // 0.1 (w1 + 2 w2 + 3 w3) along the first axis.
  const double moved = 0.1 * (0.6370426 + 2 * 0.2845703 + 3 * 0.0783872);
  CHECK(state.mean()[0] == Approx(moved).epsilon(1e-6));
  CHECK(state.mean()[1] == Approx(-2 * moved).epsilon(1e-6));
  CHECK(state.sigma() < 1);  // a short step makes the next ones shorter
}

TEST_CASE("the evolution strategy finds the bottom of a sphere and of a bent valley") {
  const auto p = search::cma_parameters(4, search::default_lambda(4));
  CmaState sphere(p, VectorXd::Constant(4, 0.5), 0.3);
  CHECK(minimize(sphere, p.lambda, 120, [](const VectorXd& x) {
          return (x.array() - 0.2).square().sum();
        }).first < 1e-10);
  CmaState valley(p, VectorXd::Zero(4), 0.3);
  const auto rosenbrock = [](const VectorXd& x) {
    double sum = 0;
    for (Eigen::Index i = 0; i + 1 < x.size(); ++i) {
      sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
    }
    return sum;
  };
  CHECK(minimize(valley, p.lambda, 400, rosenbrock).first < 1e-8);
}

TEST_CASE("the covariance learns the shape of the function") {
  // x^2 + 100 y^2: the inverse of the Hessian has axes of ratio 10.
  const auto p = search::cma_parameters(2, 6);
  CmaState state(p, VectorXd::Constant(2, 1), 0.3);
  minimize(state, p.lambda, 60, [](const VectorXd& x) { return x[0] * x[0] + 100 * x[1] * x[1]; });
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(state.covariance());
  const double ratio = std::sqrt(solver.eigenvalues()[1] / solver.eigenvalues()[0]);
  CHECK(ratio > 5);
  CHECK(ratio < 20);
}

TEST_CASE("a point from far away does not blow the distribution up") {
  const auto p = search::cma_parameters(2, 6);
  CmaState state(p, VectorXd::Zero(2), 1e-3);
  std::vector<std::pair<VectorXd, double>> points;
  for (int i = 0; i < 6; ++i) points.emplace_back(Eigen::Vector2d(0.5, 0.5), i);
  state.tell(points);
  CHECK(state.mean().norm() < 0.01);
  CHECK(state.sigma() < 0.01);
}

TEST_CASE("a coordinate is widened to the least deviation and no other is") {
  const auto p = search::cma_parameters(2, 6);
  CmaState state(p, VectorXd::Zero(2), 0.1);
  state.keep_wide(Eigen::Vector2d(0.4, 0.05));
  CHECK(0.1 * std::sqrt(state.covariance()(0, 0)) == Approx(0.4));
  CHECK(0.1 * std::sqrt(state.covariance()(1, 1)) == Approx(0.1));
}

TEST_CASE("a search by evolution gets close to the bottom, on cells, too", "[slow]") {
  Map<search::DimensionConfig> config;
  config["x"].uniform = {-3, 5};
  config["n"].int_ = {0, 20};
  config["c"].choice = std::vector<Value>{"a", "b", "c", "d"};
  const search::SearchSpace space(config);
  const Function function = [](const search::SearchPoint& point) {
    const double x = number_of(point, 0) - 1;
    const double n = (number_of(point, 1) - 13) / 5;
    return x * x + n * n + (point[2].second == Value("c") ? 0 : 1);
  };
  for (int seed = 0; seed < 5; ++seed) {
    const auto history = run_search(*make_sampler<search::CmaEs>({}, space, seed), function, 250);
    CHECK(least_value(history) < 0.01);
    // And it still tries other values at the end: the margin.
    std::size_t other_numbers = 0, other_choices = 0;
    for (std::size_t i = 200; i < 250; ++i) {
      other_numbers += history[i].point[1].second != Value(13);
      other_choices += history[i].point[2].second != Value("c");
    }
    CHECK(other_numbers > 0);
    CHECK(other_choices > 0);
  }
}

TEST_CASE("a generation counts trials as they end, and waits for replacements of failed ones") {
  // Six make a generation of a plane: until then all points come from the first distribution.
  const auto sampler = make_sampler<search::CmaEs>({}, branin_space(), 4);
  std::vector<search::Trial> history = run_search(*sampler, branin, 6);
  const search::SearchPoint after = sampler->ask(6, history);
  CHECK(after != sampler->ask(6, {}));
  search::Trial failed = history[2];
  failed.state = search::TrialState::failed;
  history[2] = failed;
  CHECK(sampler->ask(6, history) == sampler->ask(6, {}));
  history.push_back(complete_trial(6, after, branin(after)));
  CHECK(sampler->ask(7, history) != sampler->ask(7, {}));
}
