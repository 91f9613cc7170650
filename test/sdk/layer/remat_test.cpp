// SPDX-License-Identifier: Apache-2.0
// Rematerialization of functions. (Of layers: test/plugins/nn/remat_test.cpp.)
#include "trivet/layer/remat.h"

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/ops.h"
#include "trivet/ops/ops_vision.h"
#include "trivet/tape.h"
#include "trivet/tensor/profile.h"
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
    const auto run = [&](const RematKeeps& keeps) {
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
    const auto kept = run({.names = {"context"}}), dropped = run({});
    CHECK(kept.second == dropped.second);
    CHECK(dropped.first == 2 * kept.first);
  }
}

namespace {

Tensor random_leaf(Device& device, const Shape& shape, std::uint64_t seed, GradientSlot& slot) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  random_normal(RngKey(seed), 0, 1, values);
  return make_leaf(Tensor::from<float>(device, values, shape), slot);
}

// Floating-point operations of the products among the kernels.
double work(const Profile& profile) {
  double flops = 0;
  for (const Profile::Kernel& kernel : profile.kernels()) {
    for (const std::string_view kind : {"linear", "matmul", "attention", "conv2d"}) {
      if (kernel.name.starts_with(kind)) flops += kernel.flops;
    }
  }
  return flops;
}

struct ProductsRun {
  std::vector<std::vector<float>> gradients;
  double work = 0;
};

// One of each kind of product. x [4, 3, 3, 2], an image.
std::vector<Tensor> products(std::span<const Tensor> in) {
  const Tensor &x = in[0], &filters = in[1], &w = in[2], &square = in[3];
  Tensor y = ops::conv2d(x, filters, {}, {}, Activation::gelu);  // [4, 3, 3, 2]
  {
    const CheckpointName name("first");
    y = ops::linear(ops::tanh(y), w, {}, Activation::silu);  // [4, 3, 3, 5]
  }
  y = ops::reshape(ops::tanh(y), {12, 3, 5});
  {
    const CheckpointName name("second");
    y = ops::matmul(y, square);  // [12, 3, 5]
  }
  y = ops::tanh(y);
  y = ops::matmul(y, y, {.transpose_b = true});  // [12, 3, 3]
  const Tensor q = ops::reshape(ops::tanh(y), {4, 9, 1, 3});
  return {ops::tanh(ops::attention(q, q, q))};
}

constexpr double kConvolution = 2 * 4 * 3 * 3 * 2 * (3 * 3 * 2), kFirst = 2 * 36 * 2 * 5,
                 kSecond = 2 * 36 * 5 * 5, kBatched = 2 * 12 * 3 * 5 * 3,
                 kScores = 2 * 4 * 9 * 9 * 3;

ProductsRun run_products(const NamedBackend& backend, const RematKeeps& keeps) {
  const auto device = open(backend);
  GradientSlot slots[4];
  const Tensor leaves[] = {random_leaf(*device, {4, 3, 3, 2}, 1, slots[0]),
                           random_leaf(*device, {3, 3, 2, 2}, 2, slots[1]),
                           random_leaf(*device, {2, 5}, 3, slots[2]),
                           random_leaf(*device, {5, 5}, 4, slots[3])};
  const Profile profile(*device);
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    const Rematerialized fn = [](std::span<const Tensor> in, RematPass) { return products(in); };
    loss = ops::sum(remat(fn, leaves, keeps)[0]);
  }
  tape.backward(loss);
  ProductsRun outcome;
  for (const GradientSlot& slot : slots) {
    outcome.gradients.push_back(slot.gradient.to_host<float>());
  }
  outcome.work = work(profile);
  return outcome;
}

}  // namespace

TEST_CASE("kept products are computed once, and change no bit of a gradient", "[tape]") {
  for (const NamedBackend& backend : named_backends()) {
    const ProductsRun again = run_products(backend, {});
    const auto check = [&](const RematKeeps& keeps, double spared) {
      const ProductsRun kept = run_products(backend, keeps);
      CHECK(kept.gradients == again.gradients);
      CHECK(again.work - kept.work == spared);
    };
    // Of attention the kernel is spared, which has two products; composed, each counts for itself.
    INFO(backend.name);
    check({.names = {"first"}}, kFirst);
    check({.names = {"second", "none"}}, kSecond);
    check({.names = {"first", "second"}}, kFirst + kSecond);
    check({.names = {"none"}}, 0);
    check({.products = RematProducts::without_batch}, kFirst + kSecond);
    check({.products = RematProducts::without_batch, .memory = RematMemory::host},
          kFirst + kSecond);
    check({.products = RematProducts::all},
          kConvolution + kFirst + kSecond + kBatched + 2 * kScores);
  }
}

TEST_CASE("results kept on the host take no memory of a device that the host cannot access",
          "[tape]") {
  for (const NamedBackend& backend : named_backends()) {
    const auto bytes = [&](RematMemory memory) {
      const auto device = open(backend);
      GradientSlot slots[2];
      const Tensor leaves[] = {random_leaf(*device, {64, 8}, 1, slots[0]),
                               random_leaf(*device, {8, 256}, 2, slots[1])};
      const auto before = device->memory().persistent_bytes;
      const Rematerialized fn = [](std::span<const Tensor> in, RematPass) {
        return std::vector<Tensor>{ops::sum(ops::tanh(ops::linear(in[0], in[1], {})))};
      };
      Tape tape;
      Tape::Recording recording(tape);
      const auto y =
          remat(fn, leaves, {.products = RematProducts::without_batch, .memory = memory});
      return device->memory().persistent_bytes - before;
    };
    INFO(backend.name);
    const bool visible = open(backend)->host_visible();
    CHECK(bytes(RematMemory::device) >= 64 * 256 * 4);
    CHECK((bytes(RematMemory::host) < 64 * 256 * 4) == !visible);
  }
}

TEST_CASE("of a product and its activation one result is kept", "[tape]") {
  for (const NamedBackend& backend : named_backends()) {
    const auto bytes = [&](Activation activation) {
      const auto device = open(backend);
      GradientSlot slots[2];
      const Tensor leaves[] = {random_leaf(*device, {64, 8}, 1, slots[0]),
                               random_leaf(*device, {8, 256}, 2, slots[1])};
      const auto before = device->memory().persistent_bytes;
      const Rematerialized fn = [&](std::span<const Tensor> in, RematPass) {
        return std::vector<Tensor>{ops::sum(ops::linear(in[0], in[1], {}, activation))};
      };
      Tape tape;
      Tape::Recording recording(tape);
      const auto y = remat(fn, leaves, {.products = RematProducts::all});
      return device->memory().persistent_bytes - before;
    };
    INFO(backend.name);
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
      const auto kept = bytes(activation);
      CHECK(kept >= 64 * 256 * 4);
      CHECK(kept < 2 * 64 * 256 * 4);
    }
  }
}

TEST_CASE("a product that no gradient flows through is not kept", "[tape]") {
  for (const NamedBackend& backend : named_backends()) {
    const auto device = open(backend);
    GradientSlot slot;
    const Tensor x = random_leaf(*device, {64, 256}, 1, slot);
    const auto before = device->memory().persistent_bytes;
    const Rematerialized fn = [](std::span<const Tensor> in, RematPass) {
      const Tensor constant = ops::stop_gradient(in[0]);
      const Tensor product = ops::matmul(constant, constant, {.transpose_a = true});
      return std::vector<Tensor>{ops::add(ops::sum(in[0]), ops::sum(product))};
    };
    Tape tape;
    Tape::Recording recording(tape);
    const auto y = remat(fn, std::span(&x, 1), {.products = RematProducts::all});
    INFO(backend.name);
    CHECK(device->memory().persistent_bytes - before < 256 * 256 * 4);
  }
}

TEST_CASE("a function that is kept by name is not run again for the one around it", "[tape]") {
  const auto device = open_any();
  const auto run = [&](const RematKeeps& keeps) {
    GradientSlot slot;
    const Tensor x = random_leaf(*device, {3}, 1, slot);
    int forward = 0, backward = 0;
    const Rematerialized inner = [&](std::span<const Tensor> in, RematPass pass) {
      ++(pass == RematPass::forward ? forward : backward);
      CHECK(CheckpointName::current().empty());
      return std::vector<Tensor>{ops::tanh(in[0])};
    };
    const Rematerialized outer = [&](std::span<const Tensor> in, RematPass) {
      Tensor y;
      {
        const CheckpointName name("inner");
        y = remat(inner, in)[0];
      }
      return remat(inner, std::span(&y, 1));
    };
    Tape tape;
    Tensor loss;
    {
      Tape::Recording recording(tape);
      loss = ops::sum(remat(outer, std::span(&x, 1), keeps)[0]);
    }
    tape.backward(loss);
    CHECK(backward == 2);
    return std::pair(forward, slot.gradient.to_host<float>());
  };
  const auto again = run({}), kept = run({.names = {"inner"}});
  CHECK(again.first == 4);
  CHECK(kept.first == 3);
  CHECK(kept.second == again.second);
}

TEST_CASE("a second run that differs from the first is an error", "[tape]") {
  const auto device = open_any();
  const auto run = [&](const std::function<Tensor(const Tensor&)>& in_second_run) {
    GradientSlot slot;
    const Tensor x = random_leaf(*device, {3, 3}, 1, slot);
    const Rematerialized fn = [&](std::span<const Tensor> in, RematPass pass) {
      if (pass == RematPass::backward) return std::vector<Tensor>{in_second_run(in[0])};
      return std::vector<Tensor>{ops::matmul(in[0], in[0])};
    };
    Tape tape;
    Tensor loss;
    {
      Tape::Recording recording(tape);
      loss = ops::sum(remat(fn, std::span(&x, 1), {.products = RematProducts::all})[0]);
    }
    tape.backward(loss);
  };
  const auto twice = [](const Tensor& x) { return ops::matmul(ops::matmul(x, x), x); };
  CHECK_THROWS_WITH(run(twice), Catch::Contains("did more in its second run"));
  const auto other = [](const Tensor& x) {
    return ops::attention(ops::reshape(x, {1, 3, 1, 3}), ops::reshape(x, {1, 3, 1, 3}),
                          ops::reshape(x, {1, 3, 1, 3}));
  };
  CHECK_THROWS_WITH(run(other), Catch::Contains("attention in its second run, but matmul in"));
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
