// SPDX-License-Identifier: Apache-2.0
// What trivet/tape.h, trivet/layer/remat.h and trivet/ops/remat_keeps.h show: gradients, and the
// same with less memory.
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/layer.h>
#include <trivet/layer/remat.h>
#include <trivet/ops.h>
#include <trivet/tape.h>
#include <trivet/tensor/profile.h>

#include "fixtures.h"

namespace gradients_example {

using namespace trivet;
using Floats = std::vector<float>;

TEST_CASE("example: a tape gives parameters their gradients") {
  const auto device = snippets::open_device();
  ParameterStore store(*device, RngKey(1));
  Scope scope(store);
  Parameter& w = scope.parameter("w", {2, 1}, {.init = {Init::constant, 1}});
  Parameter& b = scope.parameter("b", {1}, {.init = {Init::constant, 0.5}});
  store.build();
  store.begin_gradients();
  const Tensor x = Tensor::from<float>(*device, Floats{1, 2}, {1, 2});
  // [tape]
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    loss = ops::mean(ops::square(ops::linear(x, w.value(), b.value())));
  }
  tape.backward(loss);  // w.gradient(), b.gradient() now hold the gradients
  // [/tape]
  CHECK(loss.item() == 3.5F * 3.5F);
  CHECK(w.gradient().to_host<float>() == Floats{7, 14});
  CHECK(b.gradient().to_host<float>() == Floats{7});
}

namespace {

// Counts how often it runs.
class Squares final : public Layer {
 public:
  Tensor fprop(const Tensor& x, FpropContext&) override {
    ++runs;
    return ops::square(x);
  }
  int runs = 0;
};

}  // namespace

TEST_CASE("example: a layer runs twice instead of keeping what it computes") {
  const auto device = snippets::open_device();
  const auto layer = std::make_unique<Squares>();
  FpropContext context;
  GradientSlot slot;
  const Tensor x = make_leaf(Tensor::from<float>(*device, Floats{1, 3}, {2}), slot);
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    // [remat]
    Tensor y = remat(*layer, x, context);  // as layer->fprop(x, context)
    // [/remat]
    loss = ops::sum(y);
  }
  CHECK(loss.item() == 10);
  CHECK(layer->runs == 1);
  tape.backward(loss);
  CHECK(layer->runs == 2);
  CHECK(slot.gradient.to_host<float>() == Floats{2, 6});
}

namespace {

Tensor hidden(const Tensor& x, const Tensor& w) {
  // [checkpoint_name]
  const CheckpointName name("ffn1");
  return ops::linear(x, w, {}, Activation::relu);
  // [/checkpoint_name]
}

}  // namespace

TEST_CASE("example: a product has a name, by which its result is kept") {
  const auto device = snippets::open_device();
  GradientSlot of_x, of_w;
  const Tensor leaves[] = {make_leaf(Tensor::from<float>(*device, Floats{1, 2}, {1, 2}), of_x),
                           make_leaf(Tensor::from<float>(*device, Floats{3, 4}, {2, 1}), of_w)};
  const auto products = [&](const RematKeeps& keeps) {
    const Profile profile(*device);
    Tape tape;
    {
      Tape::Recording recording(tape);
      const auto fn = [](std::span<const Tensor> in, RematPass) {
        return std::vector<Tensor>{ops::sum(hidden(in[0], in[1]))};
      };
      const Tensor loss = remat(fn, leaves, keeps)[0];
      tape.backward(loss);
    }
    return std::ranges::count_if(profile.kernels(), [](const Profile::Kernel& kernel) {
      return kernel.name == "matmul" || kernel.name == "linear_fwd";
    });
  };
  CHECK(products({.names = {"ffn1"}}) == products({}) - 1);
  CHECK(of_w.gradient.to_host<float>() == Floats{2, 4});
}

}  // namespace gradients_example
