// SPDX-License-Identifier: Apache-2.0
// Rematerialization of functions. (Of layers: test/plugins/nn_stack_test.cpp.)
#include "trivet/layer/remat.h"

#include <memory>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/random.h"

namespace trivet::test {

TEST_CASE("any function of tensors can be run again", "[tape]") {
  const auto device = open_any();
  const Tensor a = Tensor::from<float>(*device, std::vector<float>{1, 2, 3}, {3});
  const Tensor b = Tensor::from<float>(*device, std::vector<float>{4, 5, 6}, {3});
  int runs = 0;
  const Rematerialized fn = [&](std::span<const Tensor> in, RematPass pass) {
    ++runs;
    CHECK(pass == (runs == 2 ? RematPass::backward : RematPass::forward));
    return std::vector<Tensor>{ops::mul(in[0], in[1]), ops::square(in[0])};
  };
  GradientSlot of_a, of_b;
  const Tensor leaves[] = {make_leaf(a, of_a), make_leaf(b, of_b)};
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    const auto out = remat(fn, leaves);
    loss = ops::add(ops::sum(out[0]), ops::sum(out[1]));
  }
  tape.backward(loss);
  CHECK(runs == 2);
  CHECK(of_a.gradient.to_host<float>() == std::vector<float>{6, 9, 12});
  CHECK(of_b.gradient.to_host<float>() == std::vector<float>{1, 2, 3});
  // Off the tape, and without a gradient, it only runs.
  runs = 0;
  const Tensor plain[] = {a, b};
  CHECK(remat(fn, plain)[0].to_host<float>() == std::vector<float>{4, 10, 18});
  runs = 0;
  Tape::Recording recording(tape);
  CHECK_FALSE(remat(fn, plain)[0].requires_grad());
  CHECK(tape.size() == 0);
  CHECK_THROWS_WITH(remat(fn, {}), Catch::Contains("1 to 5 inputs, got 0"));
}

TEST_CASE("outputs without a gradient are skipped", "[tape]") {
  const auto device = open_any();
  GradientSlot slot;
  const Tensor x = make_leaf(Tensor::full(*device, {2}, 3), slot);
  const Rematerialized fn = [](std::span<const Tensor> in, RematPass) {
    return std::vector<Tensor>{ops::stop_gradient(in[0]), ops::square(in[0]), ops::mul(in[0], 5),
                               in[0]};
  };
  const auto gradient = [&](std::initializer_list<std::size_t> used) {
    slot = {};
    Tape tape;
    Tensor loss;
    {
      Tape::Recording recording(tape);
      const auto out = remat(fn, std::span(&x, 1));
      loss = ops::sum(x);
      for (const std::size_t i : used) loss = ops::add(loss, ops::sum(out[i]));
    }
    tape.backward(loss);
    return slot.gradient.to_host<float>();
  };
  CHECK(gradient({}) == std::vector<float>{1, 1});
  CHECK(gradient({0}) == std::vector<float>{1, 1});
  CHECK(gradient({0, 1}) == std::vector<float>{7, 7});
  CHECK(gradient({2}) == std::vector<float>{6, 6});
  CHECK(gradient({1, 3}) == std::vector<float>{8, 8});
}

TEST_CASE("recomputed values are not kept", "[tape]") {
  const auto device = open_any();
  GradientSlot slot{Tensor::zeros(*device, {256})};
  const Tensor x = make_leaf(Tensor::full(*device, {256}, 1), slot);
  const Rematerialized ten = [](std::span<const Tensor> in, RematPass) {
    Tensor y = in[0];
    for (int i = 0; i < 10; ++i) y = ops::tanh(y);
    return std::vector<Tensor>{y};
  };
  ops::add(x, 1);  // the device keeps the constant 1, which the gradient of tanh uses
  const auto before = device->memory().persistent_bytes;
  Tape tape;
  {
    Tape::Recording recording(tape);
    const Tensor y = ops::sum(remat(ten, std::span(&x, 1))[0]);
    CHECK(device->memory().persistent_bytes < before + 4 * 1024);  // ten outputs are 10 KiB
    tape.backward(y);
  }
  CHECK(device->memory().persistent_bytes == before);
}

TEST_CASE("attention is computed once if it is kept", "[tape]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto run = [&](RematKeeps keeps) {
      const auto device = open(backend);
      GradientSlot slot;
      std::vector<float> values(2 * 5 * 2 * 4);
      random_normal(RngKey(3), 0, 1, values);
      const Tensor x = make_leaf(Tensor::from<float>(*device, values, {2, 5, 2, 4}), slot);
      const Rematerialized fn = [](std::span<const Tensor> in, RematPass) {
        Tensor y = in[0];
        for (int i = 0; i < 2; ++i) y = ops::tanh(ops::attention(y, y, y, {.causal = true}));
        return std::vector<Tensor>{y};
      };
      Tape tape;
      Tensor loss;
      {
        Tape::Recording recording(tape);
        loss = ops::sum(remat(fn, std::span(&x, 1), keeps)[0]);
      }
      tape.backward(loss);
      std::uint64_t kernels = 0;
      for (const KernelUse& use : device->kernel_uses()) {
        if (use.kernel == "attention_fwd") kernels = use.native;
      }
      return std::pair(kernels, slot.gradient.to_host<float>());
    };
    const auto kept = run(RematKeeps::attention), dropped = run(RematKeeps::nothing);
    CHECK(kept.second == dropped.second);
    CHECK(dropped.first == 2 * kept.first);
  }
}

TEST_CASE("a tape keeps saved tensors until it is cleared", "[tape]") {
  Tape tape;
  auto object = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = object;
  tape.keep(std::move(object));
  CHECK_FALSE(watch.expired());
  tape.clear();
  CHECK(watch.expired());
}

}  // namespace trivet::test
