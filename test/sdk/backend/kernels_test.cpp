// SPDX-License-Identifier: Apache-2.0
// Optional kernels of a backend: each may be missing, and the step gives the same result.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/backend/kernels/norm.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/ops/ops_norm.h"
#include "trivet/ops/ops_vision.h"
#include "trivet/recurrent/gru.h"
#include "trivet/recurrent/lstm.h"
#include "trivet/tape.h"
#include "trivet/testing/backend_wrappers.h"
#include "trivet/train/optim_update.h"
#ifdef TRIVET_TEST_CPU
#include "cpu/backend.h"
#endif
#include "tiny/backend.h"

namespace trivet::test {
namespace {

Tensor drawn(Device& device, const Shape& shape, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  random_uniform(RngKey(seed), -1, 1, values);
  return Tensor::from<float>(device, values, shape);
}

Tensor numbers(Device& device, const Shape& shape, std::int32_t below) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int32_t>(i * 7) % below;
  }
  return Tensor::from<std::int32_t>(device, values, shape);
}

struct Outcome {
  std::vector<float> values;  // outputs and gradients, one after the other
  std::vector<KernelUse> uses;
};

// Every fused op once, forward and backward, with leaves of all kinds.
Outcome run(const tv_backend* table) {
  DeviceOptions options;
  options.pool = std::make_shared<ThreadPool>(2);
  const auto device = Device::open(table, options);
  std::vector<std::unique_ptr<GradientSlot>> slots;
  Outcome outcome;
  const auto leaf = [&](const Shape& shape) {
    slots.push_back(std::make_unique<GradientSlot>());
    return make_leaf(drawn(*device, shape, slots.size()), *slots.back());
  };
  const auto keep = [&](const Tensor& x) {
    const std::vector<float> values = x.to_host<float>();
    outcome.values.insert(outcome.values.end(), values.begin(), values.end());
  };
  const auto differentiate = [&](const std::function<Tensor()>& f) {
    Tape tape;
    Tensor y;
    {
      Tape::Recording recording(tape);
      y = f();
    }
    keep(y);
    tape.backward(y, drawn(*device, y.shape(), 99));
  };
  const Tensor x = leaf({6, 8}), w = leaf({8, 8}), b = leaf({8});
  for (const Activation act : {Activation::none, Activation::relu, Activation::gelu}) {
    differentiate([&] { return ops::linear(x, w, b, act); });
  }
  for (const Activation act : {Activation::tanh, Activation::silu, Activation::swiglu}) {
    differentiate([&] { return ops::activation(x, act); });
  }
  differentiate([&] { return ops::layer_norm(x, b, b, 1e-5F); });
  differentiate([&] { return ops::rms_norm(x, b, 1e-5F); });
  for (const Activation act : {Activation::none, Activation::relu, Activation::silu}) {
    differentiate([&] { return ops::batch_norm(x, b, b, 1e-3F, act).y; });
  }
  differentiate([&] { return ops::dropout(x, 0.3F, RngKey(4)); });
  differentiate([&] {
    return ops::softmax_cross_entropy(x, numbers(*device, {6}, 8), {0.1F, 0.01F});
  });
  differentiate([&] {
    const Tensor weights = Tensor::full(*device, {6}, 0.5);
    return ops::linear_cross_entropy(x, w, numbers(*device, {6}, 8), weights, {.transpose_w = true})
        .loss;
  });
  const Tensor q = leaf({2, 3, 4, 6}), k = leaf({2, 5, 2, 6}), v = leaf({2, 5, 2, 6});
  differentiate([&] { return ops::attention(q, k, v, {.causal = true, .q_offset = 2}); });
  differentiate([&] { return ops::rope(q, numbers(*device, {2, 3}, 20)); });
  const Tensor image = leaf({2, 5, 5, 3}), filter = leaf({3, 3, 3, 4}), bias = leaf({4});
  differentiate([&] {
    return ops::conv2d(image, filter, bias, {.stride = {2, 1}}, Activation::gelu);
  });
  differentiate([&] { return ops::max_pool2d(image, {2, 2}, {.stride = {2, 2}}); });
  differentiate([&] { return ops::avg_pool2d(image, {3, 3}, {}); });
  const Tensor state = leaf({2, 3}), of_state = leaf({3, 12});
  differentiate([&] { return ops::lstm(leaf({2, 4, 12}), of_state, {state, state}).h; });
  const Tensor gru_weights = leaf({3, 9}), gru_bias = leaf({3});
  differentiate([&] { return ops::gru(leaf({2, 4, 9}), {gru_weights, gru_bias}, state); });
  for (const auto& slot : slots) keep(slot->gradient);
  outcome.uses = device->kernel_uses();
  return outcome;
}

void check_equal(const Outcome& got, const Outcome& want) {
  REQUIRE(got.values.size() == want.values.size());
  float worst = 0;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    worst =
        std::max(worst, std::abs(got.values[i] - want.values[i]) / (1 + std::abs(want.values[i])));
  }
  // The exact gelu is composed from a formula with an error of 1.5e-7; gradients add several terms.
  CHECK(worst < 2e-5F);
}

struct Updated {
  std::vector<float> value, first, second;
};

Updated update(const tv_backend* table, const tv_optim& how, int steps) {
  DeviceOptions options;
  options.pool = std::make_shared<ThreadPool>(2);
  const auto device = Device::open(table, options);
  OptimizerSegment segment;
  segment.value = drawn(*device, {100}, 1);
  segment.slots = {Tensor::zeros(*device, {100}), Tensor::zeros(*device, {100})};
  for (int i = 0; i < steps; ++i) {
    segment.gradient = drawn(*device, {100}, 10 + static_cast<std::uint64_t>(i));
    optim_update(how, segment);
  }
  return {segment.value.to_host<float>(), segment.slots[0].to_host<float>(),
          segment.slots[1].to_host<float>()};
}

}  // namespace

TEST_CASE("every table of mandatory functions computes the same step", "[kernels]") {
  const Outcome tiny = run(tiny::get());
  for (const KernelUse& use : tiny.uses) {
    INFO(use.kernel);
    CHECK(use.native == 0);
    CHECK(use.fallback > 0);
  }
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    check_equal(run(backend.table), tiny);
  }
}

#ifdef TRIVET_TEST_CPU
TEST_CASE("any one optional function may be missing", "[kernels]") {
  const Outcome whole = run(cpu::get());
#define TRIVET_NAME(kernel) #kernel,
  for (const char* kernel : {TV_FOR_EACH_OPTIONAL_KERNEL(TRIVET_NAME) "extension"}) {
#undef TRIVET_NAME
    INFO(kernel);
    const tv_backend table = testing::without(*cpu::get(), kernel);
    check_equal(run(&table), whole);
  }
}
#endif

#ifdef TRIVET_TEST_CPU
TEST_CASE("batch norm's gradient uses the fallback if only the forward kernel exists",
          "[kernels]") {
  tv_backend table = *cpu::get();
  table.extension = [](tv_ctx* context, const char* name) -> const void* {
    const bool backward = std::strcmp(name, TV_BATCH_NORM_BWD) == 0;
    return backward ? nullptr : cpu::get()->extension(context, name);
  };
  const Outcome outcome = run(&table);
  check_equal(outcome, run(cpu::get()));
  for (const KernelUse& use : outcome.uses) {
    if (use.kernel.find(TV_BATCH_NORM_FWD) != std::string::npos) CHECK(use.fallback == 0);
    if (use.kernel.find(TV_BATCH_NORM_BWD) != std::string::npos) CHECK(use.native == 0);
  }
}
#endif

TEST_CASE("an available kernel is used and counted", "[kernels]") {
  static int calls = 0;
  tv_backend table = *tiny::get();
  table.softmax_xent = [](tv_ctx*, const tv_softmax_xent*) -> tv_status {
    ++calls;
    return TV_UNSUPPORTED;
  };
  const Outcome outcome = run(&table);
  CHECK(calls > 0);
  check_equal(outcome, run(tiny::get()));
}

TEST_CASE("optimizer updates follow backend.h on every backend", "[kernels]") {
  tv_optim sgd{};
  sgd.kind = TV_SGD;
  sgd.grad_scale = 0.5F;
  sgd.lr = 0.1F;
  sgd.weight_decay = 0.01F;
  tv_optim momentum = sgd, nesterov = sgd, adam = sgd, lion = sgd;
  momentum.momentum = nesterov.momentum = 0.9F;
  nesterov.nesterov = 1;
  adam.kind = TV_ADAM;
  lion.kind = TV_LION;
  for (tv_optim* o : {&adam, &lion}) {
    o->beta1 = 0.9F;
    o->beta2 = 0.99F;
  }
  adam.epsilon = 1e-6F;
  adam.step_size = 0.1F / 0.1F;
  adam.v_scale = 10;
  for (const tv_optim& how : {sgd, momentum, nesterov, adam, lion}) {
    // In double, from the formulas of backend.h.
    std::vector<float> start(100);
    random_uniform(RngKey(1), -1, 1, start);
    std::vector<double> w(start.begin(), start.end()), m(100, 0.0), v(100, 0.0);
    for (std::uint64_t step = 0; step < 3; ++step) {
      std::vector<float> gradient(100);
      random_uniform(RngKey(10 + step), -1, 1, gradient);
      for (std::size_t i = 0; i < 100; ++i) {
        double g = how.grad_scale * double{gradient[i]};
        if (how.kind == TV_SGD) {
          g += how.weight_decay * w[i];
          m[i] = how.momentum == 0 ? 0 : how.momentum * m[i] + g;
          const double d = how.momentum == 0 ? g : how.nesterov ? g + how.momentum * m[i] : m[i];
          w[i] -= how.lr * d;
        } else if (how.kind == TV_ADAM) {
          m[i] = how.beta1 * m[i] + (1 - double{how.beta1}) * g;
          v[i] = how.beta2 * v[i] + (1 - double{how.beta2}) * g * g;
          w[i] -= how.lr * how.weight_decay * w[i];
          w[i] -= how.step_size * m[i] / (std::sqrt(v[i]) * how.v_scale + how.epsilon);
        } else {
          const double c = how.beta1 * m[i] + (1 - double{how.beta1}) * g;
          w[i] -= how.lr * ((c > 0) - (c < 0) + how.weight_decay * w[i]);
          m[i] = how.beta2 * m[i] + (1 - double{how.beta2}) * g;
        }
      }
    }
    for (const NamedBackend& backend : named_backends()) {
      INFO(backend.name << ", kind " << int{how.kind} << ", momentum " << how.momentum);
      const Updated got = update(backend.table, how, 3);
      for (std::size_t i = 0; i < 100; ++i) {
        REQUIRE(got.value[i] == Approx(w[i]).margin(2e-5));
        REQUIRE(got.first[i] == Approx(m[i]).margin(1e-5));
        if (how.kind == TV_ADAM) REQUIRE(got.second[i] == Approx(v[i]).margin(1e-5));
      }
    }
  }
}

TEST_CASE("an update with too few slots is an error", "[kernels]") {
  const auto device = open_any();
  OptimizerSegment segment{Tensor::zeros(*device, {4}), Tensor::zeros(*device, {4}), {}, 0};
  tv_optim adam{};
  adam.kind = TV_ADAM;
  CHECK_THROWS_WITH(optim_update(adam, segment), Catch::Contains("2 slots"));
}

TEST_CASE("the sum of squares is that of double", "[kernels]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    for (const std::int64_t n : {0, 1, 1000, 100000}) {
      const Tensor x = drawn(*device, {n}, 5);
      Tensor out = Tensor::full(*device, {1}, -1);
      sum_of_squares(out, x);
      double want = 0;
      for (const float value : x.to_host<float>()) want += double{value} * value;
      CHECK(out.item() == Approx(want).epsilon(1e-5));
    }
  }
}

TEST_CASE("a device names the mandatory function that a backend lacks", "[kernels]") {
  tv_backend table = *tiny::get();
  table.gather_rows = nullptr;
  CHECK_THROWS_WITH(Device::open(&table, {.key = "bad/Backend"}),
                    Catch::Contains("bad/Backend") && Catch::Contains("gather_rows"));
  table = *tiny::get();
  table.api_version = 99;
  CHECK_THROWS_WITH(Device::open(&table), Catch::Contains("version 99"));
  CHECK_THROWS_WITH(Device::open(nullptr), Catch::Contains("no backend table"));
  CHECK_THROWS_WITH(Device::open(tiny::get(), {.options = {{"speed", "11"}}}),
                    Catch::Contains("speed"));
}

TEST_CASE("a shorter table of an older backend is accepted", "[kernels]") {
  tv_backend table = *tiny::get();
  table.struct_size = offsetof(tv_backend, linear_fwd);
  std::memset(reinterpret_cast<char*>(&table) + table.struct_size, 0xff,
              sizeof table - table.struct_size);
  check_equal(run(&table), run(tiny::get()));
}

}  // namespace trivet::test
