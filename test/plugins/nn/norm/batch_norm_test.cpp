// SPDX-License-Identifier: Apache-2.0
// BatchNorm by its moving averages in training, against plain loops in double.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/layer/remat.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace nn_batch_norm_test {
namespace {

using trivet::FpropContext;
using trivet::Layer;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;

constexpr double kTolerance = 1e-5, kMomentum = 0.75;
constexpr std::size_t kRows = 8, kDim = 3;

const std::vector<float> kMean{0.5F, -1, 0}, kVariance{2, 0.5F, 1};

class MovingNorm : public LayerFixture {
 public:
  explicit MovingNorm(const std::string& backend)
      : LayerFixture(backend,
                     {"nn/BatchNorm", Value::table({{"dim", kDim},
                                                    {"momentum", kMomentum},
                                                    {"use_moving_avg_in_training", true}})}) {
    start();
    set("gamma", random_values(kDim, 1));
    set("beta", random_values(kDim, 2));
  }
  void start() const {
    set("moving_mean", kMean);
    set("moving_variance", kVariance);
  }
  Tensor input() const { return tensor(random_values(kRows * kDim, 3, 2), {2, 4, kDim}); }
};

// y and the states after one batch, of which the rows with padding 1 do not count.
struct Reference {
  std::vector<double> y, mean, variance;
  Reference(const MovingNorm& norm, const std::vector<float>& x, const std::vector<float>& padding)
      : y(x.size()) {
    const std::vector<float> gamma = norm.values("gamma"), beta = norm.values("beta");
    for (std::size_t c = 0; c < kDim; ++c) {
      const auto mean_of = [&](double center, int power) {
        double sum = 0, n = 0;
        for (std::size_t r = 0; r < kRows; ++r) {
          if (padding[r] != 0) continue;
          sum += std::pow(static_cast<double>(x[r * kDim + c]) - center, power);
          n += 1;
        }
        return sum / n;
      };
      const double batch = mean_of(0, 1);
      mean.push_back(kMomentum * static_cast<double>(kMean[c]) + (1 - kMomentum) * batch);
      variance.push_back(kMomentum * static_cast<double>(kVariance[c]) +
                         (1 - kMomentum) * mean_of(batch, 2));
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t i = r * kDim + c;
        y[i] = (static_cast<double>(x[i]) - mean[c]) / std::sqrt(variance[c] + 1e-3) *
                   static_cast<double>(gamma[c]) +
               static_cast<double>(beta[c]);
      }
    }
  }
};

// Starts from the same states in every call, so that differences are those of one function.
class FromStart final : public Layer {
 public:
  explicit FromStart(const MovingNorm& norm) : norm_(norm) {}
  Tensor fprop(const Tensor& x, FpropContext& context) override {
    norm_.start();
    return norm_.layer().fprop(x, context);
  }

 private:
  const MovingNorm& norm_;
};

class Remat final : public Layer {
 public:
  explicit Remat(Layer& layer) : layer_(layer) {}
  Tensor fprop(const Tensor& x, FpropContext& context) override {
    return trivet::remat(layer_, x, context);
  }

 private:
  Layer& layer_;
};

}  // namespace

TEST_CASE("BatchNorm normalizes by the moving averages that this batch has moved") {
  const MovingNorm norm(GENERATE(from_range(trivet::test::backends())));
  const bool padded = GENERATE(false, true);
  const std::vector<float> padding =
      padded ? std::vector<float>{0, 0, 0, 1, 0, 1, 1, 1} : std::vector<float>(kRows, 0);
  const Tensor x = norm.input();
  const Reference want(norm, x.to_host<float>(), padding);
  FpropContext context;
  context.train = true;
  if (padded) context.paddings = norm.tensor(padding, {2, 4});
  const Tensor y = norm.layer().fprop(x, context);
  CHECK(largest_error(y.to_host<float>(), want.y) < kTolerance);
  CHECK(largest_error(norm.values("moving_mean"), want.mean) < kTolerance);
  CHECK(largest_error(norm.values("moving_variance"), want.variance) < kTolerance);
  // Evaluation computes the same function.
  CHECK(largest_error(norm.fprop(x).to_host<float>(), want.y) < kTolerance);
  CHECK(largest_error(norm.values("moving_mean"), want.mean) < kTolerance);
}

TEST_CASE("gradients flow through the batch's share of BatchNorm's moving averages") {
  const MovingNorm norm(GENERATE(from_range(trivet::test::backends())));
  FromStart layer(norm);
  trivet::testing::LayerCheckOptions options;
  options.train = true;
  CHECK(trivet::testing::check_layer_gradients(layer, norm.store(), norm.input(), options) == "");
}

TEST_CASE("BatchNorm by its moving averages is computed again bit for bit") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const MovingNorm kept(backend), dropped(backend);
  const auto want = trivet::test::step_of(kept.layer(), kept.store(), kept.input());
  Remat again(dropped.layer());
  trivet::test::check_equal(trivet::test::step_of(again, dropped.store(), dropped.input()), want);
  CHECK(dropped.values("moving_mean") == kept.values("moving_mean"));
  CHECK(dropped.values("moving_variance") == kept.values("moving_variance"));
}

}  // namespace nn_batch_norm_test
