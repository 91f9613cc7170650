// SPDX-License-Identifier: Apache-2.0
// Batch norm against plain loops in double.
#include "trivet/ops/ops_norm.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "trivet/error.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;
constexpr float kEpsilon = 1e-3F;

struct Moments {
  double mean = 0, variance = 0;
};

// Of the channel, the last axis.
Moments moments_of(const Array& x, std::int64_t channel) {
  const auto n = static_cast<std::size_t>(x.dim(-1));
  const auto rows = static_cast<double>(x.values.size() / n);
  Moments m;
  for (std::size_t i = static_cast<std::size_t>(channel); i < x.values.size(); i += n) {
    m.mean += x[i] / rows;
  }
  for (std::size_t i = static_cast<std::size_t>(channel); i < x.values.size(); i += n) {
    m.variance += std::pow(x[i] - m.mean, 2) / rows;
  }
  return m;
}

OpCase batch_norm_case(const Shape& shape, bool gamma, bool beta, Activation act) {
  const std::int64_t n = shape[-1];
  return {.name = "batch norm of " + shape.to_string(),
          .inputs = {{shape, -2, 3}, {{n}, 0.5, 1.5}, {{n}}},
          .op =
              [=](auto in) {
                return ops::batch_norm(in[0], gamma ? in[1] : Tensor(), beta ? in[2] : Tensor(),
                                       kEpsilon, act)
                    .y;
              },
          .reference =
              [=](auto in) {
                return filled(shape, [&](Indices i) {
                  const std::int64_t channel = i[i.size() - 1];
                  const Moments m = moments_of(in[0], channel);
                  const double unit = (in[0].at(i) - m.mean) /
                                      std::sqrt(m.variance + static_cast<double>(kEpsilon));
                  const double z =
                      unit * (gamma ? in[1].at({channel}) : 1) + (beta ? in[2].at({channel}) : 0);
                  return act == Activation::relu   ? std::max(z, 0.0)
                         : act == Activation::tanh ? std::tanh(z)
                                                   : z;
                });
              },
          .differentiable = act != Activation::relu};
}

}  // namespace

TEST_CASE("batch norm normalizes each channel over all other axes", "[ops]") {
  for (const Shape& shape : {Shape{6, 3}, Shape{2, 3, 2, 5}, Shape{40, 17}}) {
    check(batch_norm_case(shape, true, true, Activation::none));
    check(batch_norm_case(shape, true, true, Activation::relu));
  }
  check(batch_norm_case({6, 4}, true, false, Activation::tanh));
  check(batch_norm_case({6, 4}, false, true, Activation::none));
  check(batch_norm_case({6, 4}, false, false, Activation::none));
}

TEST_CASE("batch norm returns the moments of the batch, off the tape", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    GradientSlot slot;
    // Columns (1, 3) and (2, 10): means 2 and 6, biased variances 1 and 16.
    const std::vector<float> values{1, 2, 3, 10};
    const Tensor x = make_leaf(Tensor::from<float>(*device, values, {2, 2}), slot);
    Tape tape;
    const Tape::Recording recording(tape);
    const BatchNormResult out = ops::batch_norm(x, {}, {}, kEpsilon);
    CHECK(out.mean.to_host<float>() == std::vector<float>{2, 6});
    CHECK(out.variance.to_host<float>() == std::vector<float>{1, 16});
    CHECK(out.y.requires_grad());
    CHECK_FALSE(out.mean.requires_grad());
    CHECK_FALSE(out.variance.requires_grad());
  }
}

// Difference quotients fail at relu's kink. Where the output is above 0, the gradient is the plain
// norm's, by linearity in the incoming gradient.
TEST_CASE("batch norm's relu stops gradients where the output is 0", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    std::vector<float> values(60), flowing(60);
    random_uniform(RngKey(3), -1, 1, values);
    random_uniform(RngKey(4), -1, 1, flowing);
    const auto gradient = [&](Activation act, const std::vector<float>& dy, std::vector<float>& y) {
      GradientSlot slot;
      const Tensor x = make_leaf(Tensor::from<float>(*device, values, {20, 3}), slot);
      Tape tape;
      Tensor out;
      {
        const Tape::Recording recording(tape);
        out = ops::batch_norm(x, {}, {}, kEpsilon, act).y;
      }
      y = out.to_host<float>();
      tape.backward(out, Tensor::from<float>(*device, dy, {20, 3}));
      return slot.gradient.to_host<float>();
    };
    std::vector<float> y;
    const std::vector<float> got = gradient(Activation::relu, flowing, y);
    std::vector<float> through = flowing;
    for (std::size_t i = 0; i < y.size(); ++i) through[i] = y[i] > 0 ? flowing[i] : 0;
    CHECK(through != flowing);
    const std::vector<float> want = gradient(Activation::none, through, y);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-5));
  }
}

TEST_CASE("batch norm reports mismatched shapes", "[ops]") {
  const auto device = open_any();
  const Tensor x = Tensor::zeros(*device, {4, 3}), gamma = Tensor::zeros(*device, {4});
  CHECK_THROWS_WITH(ops::batch_norm(x, gamma, {}, kEpsilon),
                    Catch::Contains("[batch_norm]") && Catch::Contains("[4, 3], [4], nothing"));
  CHECK_THROWS_WITH(ops::batch_norm(x, {}, {}, kEpsilon, Activation::swiglu),
                    Catch::Contains("gated"));
}

}  // namespace trivet::test
