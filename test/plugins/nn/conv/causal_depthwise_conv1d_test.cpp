// SPDX-License-Identifier: Apache-2.0
// CausalDepthwiseConv1d against its formula. (Its cache: extend_step_test.cpp.)
#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace nn_causal_depthwise_conv1d_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::LayerFixture;
using trivet::test::random_values;

LayerFixture made(const std::string& backend, std::int64_t kernel) {
  return {backend, {"nn/CausalDepthwiseConv1d", Value::table({{"dims", 2}, {"kernel", kernel}})}};
}

}  // namespace

TEST_CASE("CausalDepthwiseConv1d sums over earlier positions of a feature") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture layer = made(backend, 3);
  layer.set("w_0", {2, 1});
  layer.set("w_1", {10, -1});
  layer.set("w_2", {100, 0.5});
  const Tensor x = layer.tensor({1, 1, 2, 2, 3, 3, 4, 4}, {1, 4, 2});
  // By hand: 2 * 3 + 10 * 2 + 100 * 1 = 126 at the third position of the first feature.
  CHECK(layer.fprop(x).to_host<float>() == std::vector<float>{2, 1, 14, 1, 126, 1.5, 238, 2});
  FpropContext packed;
  const std::vector<std::int32_t> positions{0, 1, 0, 1};
  packed.positions = Tensor::from<std::int32_t>(layer.device(), positions, {1, 4});
  CHECK(layer.layer().fprop(x, packed).to_host<float>() ==
        std::vector<float>{2, 1, 14, 1, 6, 3, 38, 1});
}

TEST_CASE("CausalDepthwiseConv1d starts as Praxis' and its gradients match differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture layer = made(backend, 4);
  CHECK(layer.values("w_0") == std::vector<float>{0.5, 0.5});
  CHECK(layer.values("w_1") == std::vector<float>{0.125, 0.125});
  CHECK(layer.values("w_3") == std::vector<float>{0.125, 0.125});
  CHECK(layer.store().parameters().size() == 4);
  const Tensor x = layer.tensor(random_values(2 * 5 * 2, 3), {2, 5, 2});
  CHECK(trivet::testing::check_layer_gradients(layer.layer(), layer.store(), x) == "");
}

TEST_CASE("CausalDepthwiseConv1d reports mismatched inputs") {
  const LayerFixture layer = made("tiny/Backend", 3);
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 2, 3})),
                    Contains("[nn/CausalDepthwiseConv1d] 'layer': expected [B, T, 2]"));
}

}  // namespace nn_causal_depthwise_conv1d_test
