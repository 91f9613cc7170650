// SPDX-License-Identifier: Apache-2.0
// Fourier mixing against the definition of the transform in complex double, and its errors.
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"

namespace nn_fourier_mixing_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Shape;
using trivet::Tensor;
using trivet::Value;
using trivet::test::LayerFixture;
using Complex = std::complex<double>;

LayerFixture made(const std::string& backend, std::int64_t dims) {
  return {backend, {"nn/FourierMixing", Value::table({{"input_dims", dims}})}};
}

// Re of the transform of x [positions, dims] over both axes: sum of x[p, d] w(p k / positions + d l
// / dims), w(a) = exp(-2 pi i a).
std::vector<double> transformed(const std::vector<float>& x, int positions, int dims) {
  std::vector<double> out;
  for (int k = 0; k < positions; ++k) {
    for (int l = 0; l < dims; ++l) {
      Complex sum = 0;
      for (int p = 0; p < positions; ++p) {
        for (int d = 0; d < dims; ++d) {
          const double angle =
              static_cast<double>(p * k) / positions + static_cast<double>(d * l) / dims;
          sum += static_cast<double>(x[static_cast<std::size_t>(p * dims + d)]) *
                 std::polar(1.0, -2 * std::numbers::pi * angle);
        }
      }
      out.push_back(sum.real());
    }
  }
  return out;
}

}  // namespace

TEST_CASE("Fourier mixing is the real part of the transform over positions and features") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture layer = made(backend, 6);
  const std::vector<float> x = trivet::test::random_values(2 * 5 * 6, 3);
  const auto y = layer.fprop(Tensor::from<float>(layer.device(), x, {2, 5, 6})).to_host<float>();
  for (std::size_t row = 0; row < 2; ++row) {
    const std::vector<float> one(x.begin() + static_cast<std::ptrdiff_t>(row * 30),
                                 x.begin() + static_cast<std::ptrdiff_t>(row * 30 + 30));
    const std::vector<double> want = transformed(one, 5, 6);
    for (std::size_t i = 0; i < 30; ++i) CHECK(y[row * 30 + i] == Approx(want[i]).margin(1e-5));
  }
  CHECK(layer.store().parameters().empty());
}

TEST_CASE("the transform of ones is their number, at 0") {
  const LayerFixture layer = made("tiny/Backend", 4);
  const auto y = layer.fprop(Tensor::full(layer.device(), {1, 3, 4}, 1)).to_host<float>();
  CHECK(y[0] == Approx(12));
  for (std::size_t i = 1; i < y.size(); ++i) CHECK(y[i] == Approx(0).margin(1e-5));
}

TEST_CASE("Fourier mixing reports what it cannot mix") {
  const LayerFixture layer = made("tiny/Backend", 4);
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 3, 5})),
                    Contains("'layer': expected [B, T, 4]"));
  FpropContext packed;
  packed.segment_ids =
      Tensor::from<std::int32_t>(layer.device(), std::vector<std::int32_t>{1, 2, 0}, {1, 3});
  CHECK_THROWS_WITH(
      layer.layer().fprop(Tensor::zeros(layer.device(), {1, 3, 4}), packed),
      Contains("'layer' would mix the texts of a packed row") && Contains("pack = false"));
  packed.segment_ids =
      Tensor::from<std::int32_t>(layer.device(), std::vector<std::int32_t>{1, 1, 0}, {1, 3});
  CHECK_NOTHROW(layer.layer().fprop(Tensor::zeros(layer.device(), {1, 3, 4}), packed));
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend",
                   {"nn/TransformerBlock", Value::table({{"input_dims", 4},
                                                         {"num_heads", 2},
                                                         {"causal", true},
                                                         {"attention_tpl", "nn/FourierMixing"}})}),
      Contains("attention_tpl") && Contains("is nn/FourierMixing, which cannot be causal"));
  const auto with = [](const char* field, const Value& value) {
    Value fields =
        Value::table({{"input_dims", 4}, {"num_heads", 2}, {"attention_tpl", "nn/FourierMixing"}});
    fields.set(field, value);
    return LayerFixture("tiny/Backend", {"nn/TransformerBlock", fields});
  };
  CHECK_THROWS_WITH(with("atten_dropout", 0.1), Contains("atten_dropout: is not used"));
  CHECK_THROWS_WITH(with("num_kv_heads", 1), Contains("num_kv_heads: is not used"));
}

}  // namespace nn_fourier_mixing_test
