// SPDX-License-Identifier: Apache-2.0
// Conv3d against plain loops in double, and its errors.
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace nn_conv3d_test {
namespace {

using Catch::Contains;
using trivet::Shape;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;

using Triple = std::int64_t[3];

// x [D, H, W, C] and w [K0, K1, K2, C, O] without padding.
std::vector<double> reference(const std::vector<float>& x, const Triple& size,
                              std::int64_t channels, const std::vector<float>& w,
                              const Triple& kernel, const Triple& stride,
                              const std::vector<float>& b) {
  const auto outputs = static_cast<std::int64_t>(b.size());
  const auto count = [&](int axis) { return (size[axis] - kernel[axis]) / stride[axis] + 1; };
  std::vector<double> out;
  for (std::int64_t d = 0; d < count(0); ++d) {
    for (std::int64_t h = 0; h < count(1); ++h) {
      for (std::int64_t v = 0; v < count(2); ++v) {
        for (std::int64_t o = 0; o < outputs; ++o) {
          double sum = static_cast<double>(b[static_cast<std::size_t>(o)]);
          for (std::int64_t i = 0; i < kernel[0] * kernel[1] * kernel[2] * channels; ++i) {
            const std::int64_t c = i % channels, k2 = i / channels % kernel[2],
                               k1 = i / channels / kernel[2] % kernel[1],
                               k0 = i / channels / kernel[2] / kernel[1];
            const std::int64_t at =
                (((d * stride[0] + k0) * size[1] + h * stride[1] + k1) * size[2] + v * stride[2] +
                 k2) *
                    channels +
                c;
            sum += static_cast<double>(x[static_cast<std::size_t>(at)]) *
                   static_cast<double>(w[static_cast<std::size_t>(i * outputs + o)]);
          }
          out.push_back(sum);
        }
      }
    }
  }
  return out;
}

std::string error_of(const Value& fields) {
  try {
    LayerFixture fixture("tiny/Backend", {"nn/Conv3d", fields});
  } catch (const trivet::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("Conv3d computes the convolution over three axes") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value fields = Value::table({{"input_dims", 2},
                                     {"output_dims", 3},
                                     {"kernel", Value::array({2, 3, 1})},
                                     {"stride", Value::array({1, 2, 1})},
                                     {"padding", "valid"}});
  LayerFixture fixture(backend, {"nn/Conv3d", fields});
  REQUIRE(fixture.parameter("w").shape() == Shape{2, 3, 1, 2, 3});
  const std::vector<float> b = random_values(3, 5), x = random_values(4 * 5 * 3 * 2, 9);
  fixture.set("b", b);
  const Tensor y = fixture.fprop(fixture.tensor(x, {1, 4, 5, 3, 2}));
  CHECK(y.shape() == Shape{1, 3, 2, 3, 3});
  CHECK(largest_error(y.to_host<float>(), reference(x, {4, 5, 3}, 2, fixture.values("w"), {2, 3, 1},
                                                    {1, 2, 1}, b)) < 1e-5);
  const auto small = fixture.tensor(random_values(2 * 3 * 2 * 2, 7), {1, 2, 3, 2, 2});
  CHECK(trivet::testing::check_layer_gradients(fixture.layer(), fixture.store(), small) == "");
}

TEST_CASE("one number sets the three axes of Conv3d, and activations are fused") {
  const Value fields = Value::table({{"input_dims", 2},
                                     {"output_dims", 2},
                                     {"groups", 2},
                                     {"has_bias", false},
                                     {"activation", "nn/Relu"}});
  LayerFixture fixture("tiny/Backend", {"nn/Conv3d", fields});
  REQUIRE(fixture.store().parameters().size() == 1);
  CHECK(fixture.parameter("w").shape() == Shape{3, 3, 3, 1, 2});
  const Tensor y = fixture.fprop(fixture.tensor(random_values(16, 1), {1, 2, 2, 2, 2}));
  CHECK(y.shape() == Shape{1, 2, 2, 2, 2});
  for (const float value : y.to_host<float>()) CHECK(value >= 0);
}

TEST_CASE("Conv3d refuses what does not fit") {
  const auto with = [](const char* field, const Value& value) {
    Value fields = Value::table({{"input_dims", 2}, {"output_dims", 3}});
    fields.set(field, value);
    return error_of(fields);
  };
  CHECK_THAT(with("kernel", Value::array({3, 3})),
             Contains("kernel: needs one number, or three") && Contains("has 2"));
  CHECK_THAT(with("pad", Value::array({1})), Contains("pad") && Contains("explicit"));
  CHECK_THAT(with("groups", 2), Contains("groups: is 2, which must divide"));
  LayerFixture fixture("tiny/Backend",
                       {"nn/Conv3d", Value::table({{"input_dims", 2}, {"output_dims", 3}})});
  CHECK_THROWS_WITH(fixture.fprop(Tensor::zeros(fixture.device(), {1, 4, 4, 4, 1})),
                    Contains("[nn/Conv3d] 'layer': expected volumes [B, D, H, W, 2]"));
}

}  // namespace nn_conv3d_test
