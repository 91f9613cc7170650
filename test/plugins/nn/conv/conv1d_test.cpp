// SPDX-License-Identifier: Apache-2.0
// Conv1d against its formula in double. (Its cache: recurrent/recurrent_test.cpp.)
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/testing/layer_check.h"

namespace nn_conv1d_test {
namespace {

using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::flattened;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using trivet::test::Row;
using trivet::test::Rows;
using trivet::test::sequences;

constexpr double kTolerance = 1e-5;
constexpr std::size_t kIn = 3, kOut = 2, kLength = 6;

class Conv : public LayerFixture {
 public:
  Conv(const std::string& backend, std::initializer_list<std::pair<std::string_view, Value>> more)
      : LayerFixture(backend, {"nn/Conv1d", fields(more)}) {
    set("b", random_values(kOut, 52));
  }
  static Value fields(std::initializer_list<std::pair<std::string_view, Value>> more) {
    Value all = Value::table({{"input_dims", kIn}, {"output_dims", kOut}});
    for (const auto& [name, value] : more) all.set(name, value);
    return all;
  }
  std::vector<float> numbers() const { return random_values(2 * kLength * kIn, 3); }
  Tensor input() const { return tensor(numbers(), {2, kLength, kIn}); }
};

// tanh of the sum of x_(t + (k - offset) dilation) w_k.
std::vector<double> convolved(const Conv& layer, std::size_t kernel, std::size_t dilation,
                              std::size_t offset, const std::vector<float>& padding) {
  const auto w = layer.values("w"), b = layer.values("b");
  std::vector<Rows> out;
  for (const Rows& rows : sequences(layer.numbers(), kLength, kIn)) {
    Rows y;
    for (std::size_t t = 0; t < kLength; ++t) {
      Row sum(b.begin(), b.end());
      for (std::size_t k = 0; k < kernel; ++k) {
        const auto from = static_cast<std::ptrdiff_t>(t + k * dilation) -
                          static_cast<std::ptrdiff_t>(offset * dilation);
        if (from < 0 || from >= static_cast<std::ptrdiff_t>(kLength)) continue;
        const auto at = static_cast<std::size_t>(from);
        if (padding[out.size() * kLength + at] != 0) continue;
        for (std::size_t i = 0; i < kIn; ++i) {
          for (std::size_t o = 0; o < kOut; ++o) {
            sum[o] += rows[at][i] * static_cast<double>(w[(k * kIn + i) * kOut + o]);
          }
        }
      }
      for (double& v : sum) v = std::tanh(v);
      y.push_back(sum);
    }
    out.push_back(y);
  }
  return flattened(out);
}

}  // namespace

TEST_CASE("Conv1d sums over neighbors, or over earlier positions") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::size_t kernel = GENERATE(1, 2, 3, 4), dilation = GENERATE(1, 2);
  const bool causal = GENERATE(false, true);
  INFO(backend << " " << kernel << " " << dilation << " " << causal);
  const Conv layer(
      backend,
      {{"kernel", kernel}, {"dilation", dilation}, {"causal", causal}, {"activation", "nn/Tanh"}});
  const std::size_t offset = causal ? kernel - 1 : (kernel - 1) / 2;
  std::vector<float> padding(2 * kLength, 0);
  CHECK(largest_error(layer.fprop(layer.input()).to_host<float>(),
                      convolved(layer, kernel, dilation, offset, padding)) < kTolerance);
  padding = {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  FpropContext context;
  context.paddings = layer.tensor(padding, {2, kLength});
  CHECK(largest_error(layer.layer().fprop(layer.input(), context).to_host<float>(),
                      convolved(layer, kernel, dilation, offset, padding)) < kTolerance);
}

TEST_CASE("gradients of Conv1d match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto check = [&](std::initializer_list<std::pair<std::string_view, Value>> more) {
    const Conv layer(backend, more);
    CHECK(trivet::testing::check_layer_gradients(layer.layer(), layer.store(), layer.input()) ==
          "");
  };
  check({{"causal", true}, {"dilation", 2}, {"activation", "nn/Silu"}});
  check({{"kernel", 4}});
}

}  // namespace nn_conv1d_test
