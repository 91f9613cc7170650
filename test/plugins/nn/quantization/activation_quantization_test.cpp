// SPDX-License-Identifier: Apache-2.0
#include "nn/quantization/activation_quantization.h"

#include <catch2/catch.hpp>

#include "plugins/nn/quantization/reference.h"
#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/layer/extend_step.h"

namespace nn_activation_quantization_test {
namespace {

using trivet::Tensor;
using trivet::Value;
using trivet::test::backends;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::made;
using trivet::test::random_values;
using trivet::test::with;

constexpr std::size_t kRows = 6, kDepth = 5;

}  // namespace

TEST_CASE("ActivationQuantization rounds rows, or the whole tensor, to integers of their scale") {
  const std::string backend = GENERATE(from_range(backends()));
  const bool per_channel = GENERATE(true, false);
  const auto how = GENERATE(values<trivet::test::QuantizationCase>(
      {{}, {.bits = 4}, {.bits = 4, .clipping = 0.6}, {.bits = 6, .symmetric = false}}));
  INFO(backend << " " << per_channel << " " << how.bits << " " << how.symmetric);
  const LayerFixture layer =
      made(backend, with("nn/ActivationQuantization", {{"bits", how.bits},
                                                       {"use_symmetric", how.symmetric},
                                                       {"clipping_coeff", how.clipping},
                                                       {"per_channel", per_channel}}));
  const std::vector<float> x = random_values(kRows * kDepth, 4);
  std::vector<double> want, gradient;
  const std::size_t group = per_channel ? kDepth : x.size();
  for (std::size_t first = 0; first < x.size(); first += group) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first);
    const auto found =
        trivet::test::quantized_group({begin, begin + static_cast<std::ptrdiff_t>(group)}, how);
    want.insert(want.end(), found.values.begin(), found.values.end());
    for (std::size_t i = 0; i < group; ++i) {
      gradient.push_back(found.inside[i] ? 2 * found.values[i] : 0);
    }
  }
  const auto step =
      trivet::test::step_of(layer.layer(), layer.store(), layer.tensor(x, {2, 3, kDepth}));
  CHECK(largest_error(step.y, want) < 1e-5);
  CHECK(largest_error(step.input_gradient, gradient) < 1e-5);
}

TEST_CASE("only a scale for each row is local in time") {
  for (const bool per_channel : {true, false}) {
    const LayerFixture layer =
        made("tiny/Backend", with("nn/ActivationQuantization", {{"per_channel", per_channel}}));
    CHECK((layer.layer().extension(trivet::kLayerLocalInTime) != nullptr) == per_channel);
    // Rows of zeros stay.
    const Tensor zeros = Tensor::zeros(layer.device(), {2, 3});
    CHECK(layer.fprop(zeros).to_host<float>() == std::vector<float>(6));
  }
}

}  // namespace nn_activation_quantization_test
