// SPDX-License-Identifier: Apache-2.0
// The Gaussian process: its formulas at values computed by hand, and its predictions.
#include "search/samplers/gaussian_process.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/search/study.h"
#include "search/math/acquisition.h"
#include "search/math/improvement_search.h"

using namespace trivet;
using namespace trivet::test;
using Eigen::VectorXd;
using search::GpData;
using search::GpModel;
using search::GpParameters;

namespace {

constexpr double kLog2Pi = 1.8378770664093453;

// y = sin(6 a) over a grid; b has no effect.
GpData wave() {
  GpData data;
  data.x.resize(24, 2);
  data.y.resize(24);
  data.dimension_of = {0, 1};
  for (int i = 0; i < 24; ++i) {
    data.x(i, 0) = (i % 8) / 7.0;
    data.x(i, 1) = (i * 5 % 24) / 23.0;
    data.y[i] = std::sin(6 * data.x(i, 0));
  }
  return data;
}

VectorXd at(double a, double b) {
  return Eigen::Vector2d(a, b);
}

}  // namespace

TEST_CASE("Matern's covariance has its closed form") {
  // (1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r)
  CHECK(search::matern52(0) == 1);
  CHECK(search::matern52(0.5) == Approx(0.8286491424));
  CHECK(search::matern52(1) == Approx(0.5239941088));
  CHECK(search::matern52(2) == Approx(0.1386602191));
}

TEST_CASE("expected improvement has its closed form") {
  using search::log_expected_improvement;
  // z = 0: f(0); z = 1: F(1) + f(1); z = -1/2: 2 (f(1/2) - F(-1/2) / 2)
  CHECK(std::exp(log_expected_improvement(0, 1, 0)) == Approx(0.3989422804));
  CHECK(std::exp(log_expected_improvement(0, 1, 1)) == Approx(1.0833154706));
  CHECK(std::exp(log_expected_improvement(1, 2, 0)) == Approx(0.3955931148));
  CHECK(std::exp(log_expected_improvement(1, 0, 3)) == Approx(2));
  CHECK(log_expected_improvement(3, 0, 1) == -INFINITY);
}

TEST_CASE("the logarithm of the expected improvement stays finite where a double underflows") {
  using search::log_expected_improvement;
  // log(f(z) + z F(z)) from the continued fraction of Mills' ratio with 60 digits.
  CHECK(log_expected_improvement(19, 1, 0) == Approx(-187.3160476013).epsilon(1e-9));
  CHECK(log_expected_improvement(21, 1, 0) == Approx(-227.5147329281).epsilon(1e-9));
  CHECK(log_expected_improvement(30, 1, 0) == Approx(-457.7246537606).epsilon(1e-9));
  CHECK(log_expected_improvement(100, 1, 0) == Approx(-5010.1295788002).epsilon(1e-9));
}

TEST_CASE("a process that saw one point predicts by the formulas of a single equation") {
  // s = 2, v = 1/2, l = 1: mean k y / (s + v), variance s - k^2 / (s + v), k = s matern52(r).
  GpData data;
  data.x = Eigen::MatrixXd::Zero(1, 1);
  data.y = VectorXd::Constant(1, 3);
  data.dimension_of = {0};
  const GpParameters parameters{{0}, std::log(2.0), std::log(0.5)};
  const GpModel model(data, parameters);
  const double k = 2 * 0.5239941088;
  const search::Gaussian found = model.predict(VectorXd::Constant(1, 1));
  CHECK(found.mean == Approx(k * 3 / 2.5));
  CHECK(found.variance == Approx(2 - k * k / 2.5));
  const auto likelihood = search::GpLikelihood(data).at(parameters);
  CHECK(likelihood->value == Approx(-0.5 * (9 / 2.5 + std::log(2.5) + kLog2Pi)));
}

TEST_CASE("features of one dimension share a length scale") {
  GpData data;
  data.x.resize(2, 2);
  data.x << 0, 0, 0.3, 0.4;  // a distance of one half
  data.y = Eigen::Vector2d(1, 0);
  data.dimension_of = {0, 0};
  const GpModel model(data, {{0}, 0, std::log(1e-12)});
  GpData line;
  line.x = Eigen::Vector2d(0, 0.5);
  line.y = data.y;
  line.dimension_of = {0};
  const GpModel same(line, {{0}, 0, std::log(1e-12)});
  CHECK(model.predict(at(0.15, 0.2)).mean ==
        Approx(same.predict(VectorXd::Constant(1, 0.25)).mean));
}

TEST_CASE("the gradient of the likelihood is that of finite differences") {
  const GpData data = wave();
  const search::GpLikelihood likelihood(data);
  const std::vector<double> center = {std::log(0.4), std::log(1.3), std::log(0.8), std::log(0.05)};
  const auto value = [&](const std::vector<double>& x) {
    return likelihood.at({{x[0], x[1]}, x[2], x[3]})->value;
  };
  const auto gradient = likelihood.at({{center[0], center[1]}, center[2], center[3]})->gradient;
  REQUIRE(gradient.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    constexpr double kStep = 1e-5;
    std::vector<double> more = center, less = center;
    more[i] += kStep;
    less[i] -= kStep;
    // The error of central differences here is some 1e-8.
    CHECK(gradient[i] == Approx((value(more) - value(less)) / (2 * kStep)).epsilon(1e-5));
  }
}

TEST_CASE("greatest likelihood finds which dimension matters") {
  const GpData data = wave();
  const GpParameters found = search::fit_gp(data);
  CHECK(std::exp(found.log_length[0]) < 1);
  CHECK(std::exp(found.log_length[1]) > 3);
  CHECK(std::exp(found.log_noise) < 1e-2);
  const GpModel model(data, found);
  CHECK(model.predict(at(0.5, 0.5)).mean == Approx(std::sin(3.0)).margin(0.05));
  CHECK(model.predict(at(0.25, 0.1)).variance < 0.05);
}

TEST_CASE("losses are brought to mean 0 and variance 1, outliers and failures among them") {
  // The median is 3 and the best 1, so no loss counts more than 3 + 5 (3 - 1) = 13: 1 2 3 4 13 13.
  const VectorXd y = search::standardized({1.0, 2.0, 3.0, 4.0, 1e6, std::nullopt});
  CHECK(y.mean() == Approx(0).margin(1e-12));
  CHECK(y.squaredNorm() / 6 == Approx(1));
  CHECK(y[4] == y[5]);
  CHECK((y[4] - y[0]) / (y[1] - y[0]) == Approx(12));
  CHECK(search::standardized({2.0, 2.0}).norm() == 0);
}

TEST_CASE("the search for the greatest improvement finds it in numbers, integers and choices") {
  const search::SearchSpace space = mixed_space();
  const search::Encoding encoding(space);
  const search::Score score = [&](const std::vector<double>& unit) {
    return -mixed(space.point(unit));
  };
  std::vector<std::vector<double>> starts;
  for (int i = 0; i < 20; ++i) {
    starts.emplace_back(6, (i + 0.5) / 20);
  }
  const auto found = space.point(search::greatest(space, score, starts, 3));
  CHECK(found[2].second == Value(3));
  CHECK(found[4].second == Value("gelu"));
  CHECK(found[5].second == Value(true));
  CHECK(mixed(found) < -3.99);
}

TEST_CASE("a choice of three is three features, of two one, and a number itself") {
  const search::Encoding encoding(mixed_space());
  REQUIRE(encoding.size() == 8);
  const std::vector<double> unit = {0.25, 0.5, 0.31, 0.6, 0.5, 0.9};
  const VectorXd features = encoding.features(unit);
  CHECK(features[0] == Approx(0.25));
  CHECK(features[2] == Approx(0.3));  // the middle of the second of five cells
  CHECK(features.segment(4, 3) == Eigen::Vector3d(0, 1, 0));
  CHECK(features[7] == 0.75);
  CHECK(encoding.dimension_of(6) == 4);
  CHECK(mixed_space().point(encoding.unit(features)) == mixed_space().point(unit));
}
