// SPDX-License-Identifier: Apache-2.0
// Slopes where pieces of a function meet: equal on every backend, by the kernel or the fallback.
#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

// The slope of f at each x.
std::vector<float> slopes(Device& device, const std::vector<float>& x, auto f) {
  const auto n = static_cast<std::int64_t>(x.size());
  GradientSlot slot;
  const Tensor leaf = make_leaf(Tensor::from<float>(device, x, {n, 1}), slot);
  Tape tape;
  Tensor y;
  {
    Tape::Recording recording(tape);
    y = f(leaf);
  }
  tape.backward(y, Tensor::full(device, y.shape(), 1));
  return slot.gradient.to_host<float>();
}

}  // namespace

TEST_CASE("the slope of relu at 0 is 0 on every backend", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const Tensor one = Tensor::full(*device, {1, 1}, 1);
    const std::vector<float> x{-1, 0, 1}, want{0, 0, 1};
    CHECK(slopes(*device, x,
                 [](const Tensor& t) { return ops::activation(t, Activation::relu); }) == want);
    CHECK(slopes(*device, x, [&](const Tensor& t) {
            return ops::linear(t, one, {}, Activation::relu);
          }) == want);
  }
}

TEST_CASE("the slope of softplus is the sigmoid, at 0 too", "[ops]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const std::vector<float> x{-100, -1, 0, 1, 100};
    const std::vector<double> want{0, 0.2689414213699951, 0.5, 0.7310585786300049, 1};
    const auto got = slopes(*device, x, ops::softplus);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-7));
    const Tensor at = Tensor::from<float>(*device, x, {5});
    const std::vector<float> y = ops::softplus(at).to_host<float>();
    CHECK(y[2] == Approx(0.6931471805599453));
    CHECK(y[4] == 100);
  }
}

}  // namespace trivet::test
