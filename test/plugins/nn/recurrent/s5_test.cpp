// SPDX-License-Identifier: Apache-2.0
// S5: values, gradients and decoding against the recurrence in double.
#include "nn/recurrent/s5.h"

#include <cmath>
#include <complex>

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace nn_s5_test {
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

class S5 : public LayerFixture {
 public:
  S5(const std::string& backend, Rules rules)
      : LayerFixture(backend, {"nn/S5", Value::table({{"input_dims", kDims},
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

  // The recurrence in s5.h, in double.
  std::vector<double> wanted(const std::vector<float>& x) const {
    const HippoType type = rules_.hippo_type == "legs"   ? HippoType::legs
                           : rules_.hippo_type == "lagt" ? HippoType::lagt
                                                         : HippoType::linear;
    const std::vector<Complex> a = hippo_eigenvalues(type, kStates);
    const std::vector<float> d = values("d");
    const auto both = [&](const std::string& name) {
      std::vector<Complex> numbers;
      const std::vector<float> re = values(name + "_re"), im = values(name + "_im");
      for (std::size_t i = 0; i < re.size(); ++i) {
        numbers.emplace_back(static_cast<double>(re[i]), static_cast<double>(im[i]));
      }
      return numbers;
    };
    const std::vector<Complex> b = both("b"), c = both("c");
    const auto length = static_cast<std::int64_t>(x.size()) / (kBatch * kDims);
    std::vector<double> y(x.size());
    for (std::int64_t row = 0; row < kBatch; ++row) {
      std::vector<Complex> h(kStates);
      std::int32_t segment = 0;
      for (std::int64_t t = 0; t < length; ++t) {
        const auto place = static_cast<std::size_t>(row * length + t);
        const std::int32_t own = rules_.segments.empty() ? 0 : rules_.segments[place];
        if (own != 0 && segment != 0 && own != segment) h.assign(kStates, 0);
        if (own != 0) segment = own;
        const bool padded = !rules_.padding.empty() && rules_.padding[place] != 0;
        const auto u = [&](std::size_t k) {
          return padded ? 0 : static_cast<double>(x[place * kDims + k]);
        };
        for (std::size_t n = 0; n < kStates; ++n) {
          Complex in = 0;
          for (std::size_t k = 0; k < kDims; ++k) in += b[n * kDims + k] * u(k);
          const Complex abar = std::exp(rules_.step_size * a[n]);
          h[n] = abar * h[n] + (abar - 1.0) / a[n] * in;
        }
        for (std::size_t k = 0; k < kDims; ++k) {
          double& out = y[place * kDims + k];
          out = static_cast<double>(d[k]) * u(k);
          for (std::size_t n = 0; n < kStates; ++n) out += (c[n * kDims + k] * h[n]).real();
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

}  // namespace

TEST_CASE("S5 computes its recurrence in chunks of any length") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::string type = GENERATE("linear", "legs", "lagt");
  const S5 s5(backend, {.hippo_type = type});
  for (const std::int64_t length : {1, 2, 63, 64, 65, 200}) s5.check(length);
  S5(backend, {.hippo_type = type, .step_size = 1}).check(130);
}

TEST_CASE("the state of S5 starts again with each segment, and padding is zero") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  S5(backend, {.segments = kSegments}).check(7);
  S5(backend, {.padding = kPadding}).check(7);
  S5(backend, {.padding = kPadding, .segments = kSegments}).check(7);
}

TEST_CASE("gradients of S5 match central differences", "[slow]") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const S5 s5(backend, {.step_size = 0.5});
  CHECK(trivet::testing::check_layer_gradients(s5.layer(), s5.store(), s5.input(9)) == "");
  // Across chunks.
  CHECK(trivet::testing::check_layer_gradients(s5.layer(), s5.store(), s5.input(67)) == "");
  class Packed final : public trivet::Layer {
   public:
    explicit Packed(const S5& s5) : s5_(s5) {}
    Tensor fprop(const Tensor& x, FpropContext&) override {
      FpropContext own = s5_.context(7);
      return s5_.layer().fprop(x, own);
    }

   private:
    const S5& s5_;
  };
  const S5 packed(backend, {.step_size = 0.5, .padding = kPadding, .segments = kSegments});
  Packed layer(packed);
  CHECK(trivet::testing::check_layer_gradients(layer, packed.store(), packed.input(7)) == "");
}

TEST_CASE("S5 decodes with its state") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const Rules& rules :
       {Rules{}, Rules{.segments = kSegments}, Rules{.padding = kPadding, .segments = kSegments}}) {
    const S5 s5(backend, rules);
    const Tensor x = s5.input(7);
    FpropContext whole = s5.context(7);
    const std::vector<float> want = s5.layer().fprop(x, whole).to_host<float>();
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{7}, {1, 1, 1, 1, 1, 1, 1}, {3, 0, 2, 2}}) {
      const auto cache = trivet::make_cache(s5.layer(), "layer", kBatch, 7);
      std::vector<Tensor> parts;
      std::int64_t begin = 0;
      for (const std::int64_t size : sizes) {
        const auto part = [&](const Tensor& all) {
          return all.defined() ? trivet::ops::slice(all, 1, begin, begin + size) : Tensor();
        };
        FpropContext chunk;
        chunk.paddings = part(whole.paddings);
        chunk.segment_ids = part(whole.segment_ids);
        parts.push_back(trivet::extend_step(s5.layer(), part(x), cache.get(), chunk));
        begin += size;
      }
      CHECK(largest_error(trivet::ops::concat(parts, 1).to_host<float>(), want) < kTolerance);
    }
  }
}

TEST_CASE("the rows of S5's state may be reordered") {
  const S5 s5(GENERATE(from_range(trivet::test::backends())), {});
  const Tensor x = s5.input(6);
  const auto cache = trivet::make_cache(s5.layer(), "layer", kBatch, 6);
  FpropContext context;
  trivet::extend_step(s5.layer(), trivet::ops::slice(x, 1, 0, 5), cache.get(), context);
  const std::vector<std::int32_t> order{1, 1, 0};
  cache->reorder(order);
  const Tensor last = trivet::ops::slice(x, 1, 5, 6);
  std::vector<Tensor> rows;
  for (const std::int32_t row : order) rows.push_back(trivet::ops::slice(last, 0, row, row + 1));
  const std::vector<float> y =
      trivet::extend_step(s5.layer(), trivet::ops::concat(rows, 0), cache.get(), context)
          .to_host<float>();
  const std::vector<float> all = s5.fprop(x).to_host<float>();
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t c = 0; c < kDims; ++c) {
      const auto row = static_cast<std::size_t>(order[i]);
      CHECK(y[i * kDims + c] == Approx(all[(row * 6 + 5) * kDims + c]).margin(1e-5));
    }
  }
}

TEST_CASE("S5 reports bad configs and inputs") {
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend", "nn/S5"), Contains("input_dims is not set"));
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend", {"nn/S5", Value::table({{"input_dims", 3}, {"causal", false}})}),
      Contains("causal") && Contains("earlier positions alone"));
  CHECK_THROWS_WITH(LayerFixture("tiny/Backend",
                                 {"nn/S5", Value::table({{"input_dims", 3}, {"state_dims", 257}})}),
                    Contains("state_dims"));
  const S5 s5("tiny/Backend", {});
  CHECK_THROWS_WITH(s5.fprop(Tensor::zeros(s5.device(), {2, 3, 4})),
                    Contains("[nn/S5] 'layer': expected [B, T, 3]"));
  for (const trivet::Shape& shape : {trivet::Shape{2, 0, 3}, trivet::Shape{0, 4, 3}}) {
    CHECK(s5.fprop(Tensor::zeros(s5.device(), shape)).shape() == shape);
  }
}

}  // namespace nn_s5_test
