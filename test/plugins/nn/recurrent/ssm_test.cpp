// SPDX-License-Identifier: Apache-2.0
// Ssm: its eigenvalues, and values, gradients and decoding against the recurrence in double.
#include "nn/recurrent/ssm.h"

#include <cmath>
#include <complex>
#include <numbers>

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace nn_ssm_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::nn::hippo_eigenvalues;
using trivet::nn::HippoType;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using Complex = std::complex<double>;

// Sums of a few hundred products in f32.
constexpr double kTolerance = 2e-5;
constexpr std::int64_t kDims = 3, kStates = 5, kBatch = 2;

struct Rules {
  std::string hippo_type = "linear";
  double step_size = 0.1;
  std::vector<float> padding{};
  std::vector<std::int32_t> segments{};
};

class Ssm : public LayerFixture {
 public:
  Ssm(const std::string& backend, Rules rules)
      : LayerFixture(backend, {"nn/Ssm", Value::table({{"input_dims", kDims},
                                                       {"state_dims", kStates},
                                                       {"step_size", rules.step_size},
                                                       {"hippo_type", rules.hippo_type}})}),
        rules_(std::move(rules)) {
    set("d", random_values(kDims, 4));
  }

  Tensor input(std::int64_t length) const {
    return tensor(random_values(kBatch * length * kDims, 3), {kBatch, length, kDims});
  }

  FpropContext context(std::int64_t length) const {
    FpropContext context;
    if (!rules_.padding.empty()) context.paddings = tensor(rules_.padding, {kBatch, length});
    if (!rules_.segments.empty()) {
      context.segment_ids = Tensor::from<std::int32_t>(device(), rules_.segments, {kBatch, length});
    }
    return context;
  }

  // The recurrence in ssm.h, in double.
  std::vector<double> wanted(const std::vector<float>& x) const {
    const HippoType type = rules_.hippo_type == "legs"   ? HippoType::legs
                           : rules_.hippo_type == "lagt" ? HippoType::lagt
                                                         : HippoType::linear;
    const std::vector<Complex> a = hippo_eigenvalues(type, kStates);
    const std::vector<float> re = values("c_re"), im = values("c_im"), d = values("d");
    const auto length = static_cast<std::int64_t>(x.size()) / (kBatch * kDims);
    std::vector<double> y(x.size());
    for (std::int64_t row = 0; row < kBatch; ++row) {
      for (std::int64_t c = 0; c < kDims; ++c) {
        std::vector<Complex> h(kStates);
        std::int32_t segment = 0;
        for (std::int64_t t = 0; t < length; ++t) {
          const auto place = static_cast<std::size_t>(row * length + t);
          const std::size_t i = place * kDims + static_cast<std::size_t>(c);
          const std::int32_t own = rules_.segments.empty() ? 0 : rules_.segments[place];
          if (own != 0 && segment != 0 && own != segment) h.assign(kStates, 0);
          if (own != 0) segment = own;
          const bool padded = !rules_.padding.empty() && rules_.padding[place] != 0;
          const double u = padded ? 0 : static_cast<double>(x[i]);
          y[i] = static_cast<double>(d[static_cast<std::size_t>(c)]) * u;
          for (std::size_t n = 0; n < kStates; ++n) {
            const Complex abar = std::exp(rules_.step_size * a[n]);
            h[n] = abar * h[n] + (abar - 1.0) / a[n] * u;
            const std::size_t k = n * kDims + static_cast<std::size_t>(c);
            y[i] += (Complex(static_cast<double>(re[k]), static_cast<double>(im[k])) * h[n]).real();
          }
        }
      }
    }
    return y;
  }

  void check(std::int64_t length) const {
    INFO(rules_.hippo_type << " " << length);
    const Tensor x = input(length);
    FpropContext own = context(length);
    const Tensor y = layer().fprop(x, own);
    CHECK(y.shape() == x.shape());
    CHECK(largest_error(y.to_host<float>(), wanted(x.to_host<float>())) < kTolerance);
  }

 private:
  Rules rules_;
};

const std::vector<std::int32_t> kSegments{1, 1, 1, 2, 2, 2, 3, 1, 2, 2, 2, 2, 0, 0};
const std::vector<float> kPadding{1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1};

std::vector<double> imaginary(HippoType type, std::int64_t n) {
  std::vector<double> w;
  for (const Complex& each : hippo_eigenvalues(type, n)) {
    CHECK(each.real() == -0.5);
    w.push_back(each.imag());
  }
  return w;
}

}  // namespace

TEST_CASE("eigenvalues of the linear form are evenly spaced") {
  // Praxis: from -pi / 2 (n - 1) in steps of pi (n - 1) / n.
  const auto w = imaginary(HippoType::linear, 4);
  const double pi = std::numbers::pi;
  const std::vector<double> want{-1.5 * pi, -0.75 * pi, 0, 0.75 * pi};
  for (std::size_t i = 0; i < 4; ++i) CHECK(w[i] == Approx(want[i]).margin(1e-12));
  CHECK(imaginary(HippoType::linear, 1) == std::vector<double>{0});
}

TEST_CASE("eigenvalues of LagT and LegS are those of their matrices") {
  // By hand. LagT, n = 2: the skew part is 1/2, scaled by 2. LegS, n = 2: p_0 p_1 = sqrt(3) / 2.
  CHECK(imaginary(HippoType::lagt, 2)[1] == Approx(1));
  CHECK(imaginary(HippoType::legs, 2)[1] == Approx(std::sqrt(3) / 2));
  // n = 3: w^2 is the sum of the squares above the diagonal, 3/4 + 5/4 + 15/4, and there is a 0.
  const auto three = imaginary(HippoType::legs, 3);
  CHECK(three[0] == Approx(-std::sqrt(5.75)));
  CHECK(three[1] == 0);
  CHECK(three[2] == Approx(std::sqrt(5.75)));
  // n = 4: w^2 are the roots of z^2 - s z + q, with s as above and q the square of the Pfaffian
  // k01 k23 - k02 k13 + k03 k12, where each of the three terms is sqrt(1/2 3/2 5/2 7/2).
  const auto four = imaginary(HippoType::legs, 4);
  const double s = 0.25 * (3 + 5 + 7 + 15 + 21 + 35), q = 105.0 / 16;
  const double root = std::sqrt(s * s / 4 - q);
  CHECK(four[3] == Approx(std::sqrt(s / 2 + root)));
  CHECK(four[2] == Approx(std::sqrt(s / 2 - root)));
  CHECK(four[0] == Approx(-four[3]));
  for (const HippoType type : {HippoType::legs, HippoType::lagt}) {
    // The sum of the squares is that of the skew matrix.
    for (const std::int64_t n : {1, 7, 64}) {
      double sum = 0, want = 0;
      for (const double w : imaginary(type, n)) sum += w * w;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const double legs = (static_cast<double>(i) + 0.5) * (static_cast<double>(j) + 0.5);
          if (i == j) continue;
          want += type == HippoType::legs ? legs : static_cast<double>(n * n) / 4;
        }
      }
      CHECK(sum == Approx(want).margin(1e-9));
    }
  }
}

TEST_CASE("a state space model computes its recurrence in chunks of any length") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::string type = GENERATE("linear", "legs", "lagt");
  const Ssm ssm(backend, {.hippo_type = type});
  for (const std::int64_t length : {1, 2, 63, 64, 65, 200}) ssm.check(length);
  Ssm(backend, {.hippo_type = type, .step_size = 1}).check(130);
}

TEST_CASE("the state starts again with each segment, and padding is zero") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  Ssm(backend, {.segments = kSegments}).check(7);
  Ssm(backend, {.padding = kPadding}).check(7);
  Ssm(backend, {.padding = kPadding, .segments = kSegments}).check(7);
}

TEST_CASE("gradients of a state space model match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Ssm ssm(backend, {.step_size = 0.5});
  CHECK(trivet::testing::check_layer_gradients(ssm.layer(), ssm.store(), ssm.input(9)) == "");
  // Across chunks.
  CHECK(trivet::testing::check_layer_gradients(ssm.layer(), ssm.store(), ssm.input(67)) == "");
  class Packed final : public trivet::Layer {
   public:
    explicit Packed(const Ssm& ssm) : ssm_(ssm) {}
    Tensor fprop(const Tensor& x, FpropContext&) override {
      FpropContext own = ssm_.context(7);
      return ssm_.layer().fprop(x, own);
    }

   private:
    const Ssm& ssm_;
  };
  const Ssm packed(backend, {.step_size = 0.5, .padding = kPadding, .segments = kSegments});
  Packed layer(packed);
  CHECK(trivet::testing::check_layer_gradients(layer, packed.store(), packed.input(7)) == "");
}

TEST_CASE("a state space model decodes with its state") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const Rules& rules :
       {Rules{}, Rules{.segments = kSegments}, Rules{.padding = kPadding, .segments = kSegments}}) {
    const Ssm ssm(backend, rules);
    const Tensor x = ssm.input(7);
    FpropContext whole = ssm.context(7);
    const std::vector<float> want = ssm.layer().fprop(x, whole).to_host<float>();
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{7}, {1, 1, 1, 1, 1, 1, 1}, {3, 0, 2, 2}}) {
      const auto cache = trivet::make_cache(ssm.layer(), "layer", kBatch, 7);
      std::vector<Tensor> parts;
      std::int64_t begin = 0;
      for (const std::int64_t size : sizes) {
        const auto part = [&](const Tensor& all) {
          return all.defined() ? trivet::ops::slice(all, 1, begin, begin + size) : Tensor();
        };
        FpropContext chunk;
        chunk.paddings = part(whole.paddings);
        chunk.segment_ids = part(whole.segment_ids);
        parts.push_back(trivet::extend_step(ssm.layer(), part(x), cache.get(), chunk));
        begin += size;
      }
      CHECK(largest_error(trivet::ops::concat(parts, 1).to_host<float>(), want) < kTolerance);
    }
  }
}

TEST_CASE("the rows of a state may be reordered") {
  const Ssm ssm(GENERATE(from_range(trivet::test::backends())), {});
  const Tensor x = ssm.input(6);
  const auto cache = trivet::make_cache(ssm.layer(), "layer", kBatch, 6);
  FpropContext context;
  trivet::extend_step(ssm.layer(), trivet::ops::slice(x, 1, 0, 5), cache.get(), context);
  const std::vector<std::int32_t> order{1, 1, 0};
  cache->reorder(order);
  const Tensor last = trivet::ops::slice(x, 1, 5, 6);
  std::vector<Tensor> rows;
  for (const std::int32_t row : order) rows.push_back(trivet::ops::slice(last, 0, row, row + 1));
  const std::vector<float> y =
      trivet::extend_step(ssm.layer(), trivet::ops::concat(rows, 0), cache.get(), context)
          .to_host<float>();
  const std::vector<float> all = ssm.fprop(x).to_host<float>();
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t c = 0; c < kDims; ++c) {
      const auto row = static_cast<std::size_t>(order[i]);
      CHECK(y[i * kDims + c] == Approx(all[(row * 6 + 5) * kDims + c]).margin(1e-5));
    }
  }
}

TEST_CASE("a state space model reports bad configs and inputs") {
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend", "nn/Ssm"), Contains("input_dims is not set"));
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend",
                                 {"nn/Ssm", Value::table({{"input_dims", 3}, {"causal", false}})}),
                    Contains("causal") && Contains("earlier positions alone"));
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend",
                   {"nn/Ssm", Value::table({{"input_dims", 3}, {"state_dims", 257}})}),
      Contains("state_dims"));
  const Ssm ssm("tiny/Backend", {});
  CHECK_THROWS_WITH(ssm.fprop(Tensor::zeros(ssm.device(), {2, 3, 4})),
                    Contains("[nn/Ssm] 'layer': expected [B, T, 3]"));
  for (const trivet::Shape& shape : {trivet::Shape{2, 0, 3}, trivet::Shape{0, 4, 3}}) {
    CHECK(ssm.fprop(Tensor::zeros(ssm.device(), shape)).shape() == shape);
  }
}

}  // namespace nn_ssm_test
