// SPDX-License-Identifier: Apache-2.0
// Step memory: record, plan, replay; tensors that outlive a step; different steps; the limit.
#include <sys/resource.h>

#include <algorithm>
#include <list>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/step_plans.h"

namespace trivet::test {
namespace {

// A classifier with one hidden layer and plain gradient descent, as in a training loop.
class Mlp {
 public:
  explicit Mlp(Device& device) : device_(device) {
    w1_ = parameter({64, 128});
    b1_ = parameter({128});
    w2_ = parameter({128, 10});
    b2_ = parameter({10});
  }

  // Runs a step and returns the loss, which outlives the step if `keep` is set.
  float step(std::int64_t batch, Tensor* keep = nullptr) {
    const Tensor x = Tensor::full(device_, {batch, 64}, 0.5);
    const Tensor targets = Tensor::full(device_, {batch}, 3, DType::i32);
    for (GradientSlot& slot : slots_) slot.written = false;
    float value = 0;
    device_.begin_step();
    {
      Tensor loss;
      {
        Tape::Recording recording(tape_);
        const Tensor h = ops::linear(x, w1_, b1_, Activation::relu);
        loss = ops::mean(ops::softmax_cross_entropy(ops::linear(h, w2_, b2_), targets));
      }
      tape_.backward(loss);
      value = loss.item();
      if (keep != nullptr) *keep = loss;
      addresses_.clear();
      addresses_.push_back(loss.view().data);
    }
    device_.end_step();
    return value;
  }
  const std::vector<const void*>& addresses() const { return addresses_; }

 private:
  Tensor parameter(const Shape& shape) {
    slots_.emplace_back().gradient = Tensor::zeros(device_, shape);
    return make_leaf(Tensor::full(device_, shape, 0.01), slots_.back());
  }

  Device& device_;
  std::list<GradientSlot> slots_;
  Tensor w1_, b1_, w2_, b2_;
  Tape tape_;
  std::vector<const void*> addresses_;
};

long minor_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace

TEST_CASE("a steady step allocates nothing from the backend and reuses its addresses", "[memory]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    Mlp model(*device);
    const float loss = model.step(32);
    CHECK(device->memory().recorded_steps == 1);
    model.step(32);
    model.step(32);
    const MemoryReport warm = device->memory();
    const auto addresses = model.addresses();
    for (int i = 0; i < 20; ++i) {
      CHECK(model.step(32) == loss);  // nothing is updated, so nothing changes
      CHECK(model.addresses() == addresses);
    }
    const MemoryReport later = device->memory();
    CHECK(later.backend_allocations == warm.backend_allocations);
    CHECK(later.peak_bytes == warm.peak_bytes);
    CHECK(later.recorded_steps == 1);
    CHECK(later.planned_steps == warm.planned_steps + 20);
    CHECK(later.arena_bytes >= later.lower_bound_bytes);
    CHECK(later.arena_bytes <= later.lower_bound_bytes + later.lower_bound_bytes / 4 + 4096);
  }
}

// A sanitizer touches pages itself.
TEST_CASE("a hundred steady steps touch no new page", "[memory][nosan]") {
  const auto device = open_any();
  Mlp model(*device);
  for (int i = 0; i < 10; ++i) model.step(256);
  const long before = minor_faults();
  for (int i = 0; i < 100; ++i) model.step(256);
  // A handful may come from elsewhere in the process (the test program's own reporting).
  CHECK(minor_faults() - before < 10);
}

TEST_CASE("a tensor that outlives its step keeps its value, and steps become steady again",
          "[memory]") {
  const auto device = open_any();
  Mlp model(*device);
  for (int i = 0; i < 3; ++i) model.step(32);
  std::vector<Tensor> kept(6);
  for (Tensor& loss : kept) model.step(32, &loss);
  const float expected = kept.front().item();
  for (int i = 0; i < 5; ++i) model.step(32);
  for (const Tensor& loss : kept) CHECK(loss.item() == expected);
  // The loss of one step is freed after the next one exists, so two blocks alternate.
  for (int i = 0; i < 2; ++i) model.step(32, &kept[0]);
  const MemoryReport warm = device->memory();
  for (int i = 0; i < 5; ++i) model.step(32, &kept[0]);
  CHECK(device->memory().backend_allocations == warm.backend_allocations);
  CHECK(device->memory().planned_steps == warm.planned_steps + 5);
}

// More allocations than are placed by size.
TEST_CASE("a very long step is planned, and no two of its tensors overlap", "[memory]") {
  const auto device = open_any();
  constexpr int kPasses = 8000;
  const auto holds = [](const Tensor& x, int value) {
    const auto values = x.to_host<float>();
    const auto expected = static_cast<float>(value);
    return std::ranges::all_of(values, [&](float each) { return each == expected; });
  };
  const auto step = [&] {
    device->begin_step();
    std::vector<Tensor> kept;
    bool is_whole = true;
    for (int i = 0; i < kPasses; ++i) {
      const Tensor passing = Tensor::full(*device, {16 + i % 5 * 32}, -i);
      kept.push_back(Tensor::full(*device, {16 + i % 7 * 16}, i));
      is_whole = is_whole && holds(passing, -i);
    }
    for (int i = kPasses - 1; i >= 0; --i) {
      const Tensor passing = Tensor::full(*device, {16 + i % 3 * 64}, -i);
      is_whole = is_whole && holds(kept.back(), i) && holds(passing, -i);
      kept.pop_back();
    }
    device->end_step();
    return is_whole;
  };
  for (int i = 0; i < 3; ++i) CHECK(step());
  const MemoryReport report = device->memory();
  CHECK(report.planned_steps == 2);
  CHECK(report.arena_bytes >= report.lower_bound_bytes);
  CHECK(report.arena_bytes <= report.lower_bound_bytes + report.lower_bound_bytes / 8);
}

TEST_CASE("steps of a few shapes have a plan each", "[memory]") {
  const auto device = open_any();
  Mlp model(*device);
  for (int i = 0; i < 3; ++i) {
    model.step(32);
    model.step(7);
  }
  const MemoryReport warm = device->memory();
  CHECK(warm.recorded_steps == 2);
  for (int i = 0; i < 5; ++i) {
    model.step(32);
    model.step(7);
  }
  CHECK(device->memory().backend_allocations == warm.backend_allocations);
  CHECK(device->memory().planned_steps == warm.planned_steps + 10);
}

TEST_CASE("steps are recorded again after their plans are forgotten", "[memory]") {
  for (const NamedBackend& backend : named_backends()) {
    CAPTURE(backend.name);
    const auto device = open(backend);
    Mlp mlp(*device);
    const float before = [&] {
      for (int i = 0; i < 3; ++i) mlp.step(32);
      return mlp.step(32);
    }();
    const MemoryReport first = device->memory();
    CHECK(first.planned_steps >= 2);
    CHECK(first.arena_bytes > 0);
    forget_step_plans(*device);
    CHECK(device->memory().arena_bytes == 0);
    CHECK(mlp.step(32) == before);
    CHECK(mlp.step(32) == before);
    const MemoryReport again = device->memory();
    CHECK(again.recorded_steps == first.recorded_steps + 1);
    CHECK(again.planned_steps == first.planned_steps + 1);
    // No arena lay beside the recorded step.
    CHECK(again.peak_bytes == first.peak_bytes);
  }
}

TEST_CASE("a step that leaves its plan half-way is computed rightly", "[memory]") {
  const auto device = open_any();
  const auto step = [&](bool longer) {
    device->begin_step();
    float result = 0;
    {
      const Tensor a = Tensor::full(*device, {100}, 1);
      Tensor b = ops::add(a, 1);
      if (longer) b = ops::add(Tensor::full(*device, {300}, 0), ops::slice(b, 0, 0, 1));
      const Tensor c = ops::mul(b, 3);
      result = ops::sum(ops::add(c, ops::slice(a, 0, 0, 1))).item();
    }
    device->end_step();
    return result;
  };
  for (int round = 0; round < 4; ++round) {
    CHECK(step(false) == 700);
    CHECK(step(true) == 2100);
    CHECK(step(true) == 2100);
  }
}

TEST_CASE("memory freed in another order than planned is not handed out twice", "[memory]") {
  const auto device = open_any();
  const auto step = [&](bool first_longer) {
    device->begin_step();
    float result = 0;
    {
      Tensor a = Tensor::full(*device, {64}, 1), b = Tensor::full(*device, {64}, 2);
      (first_longer ? b : a) = Tensor();
      const Tensor c = Tensor::full(*device, {64}, 4);
      result = ops::sum(first_longer ? a : b).item() + ops::sum(c).item();
    }
    device->end_step();
    return result;
  };
  CHECK(step(true) == 64 + 256);
  CHECK(step(true) == 64 + 256);
  CHECK(step(false) == 128 + 256);
  CHECK(step(true) == 64 + 256);
}

TEST_CASE("a step that an exception cut short leaves the device usable", "[memory]") {
  const auto device = open_any();
  Mlp model(*device);
  for (int i = 0; i < 3; ++i) model.step(32);
  const Tensor held = [&] {
    device->begin_step();
    return Tensor::full(*device, {32, 128}, 5);
  }();
  const float loss = model.step(32);
  CHECK(model.step(32) == loss);
  CHECK(held.to_host<float>() == std::vector<float>(32 * 128, 5.0F));
}

TEST_CASE("the memory limit stops a step with a table of the largest tensors", "[memory]") {
  const auto device = open_any(4 << 20);
  const Tensor a = Tensor::zeros(*device, {256, 1024});  // 1 MiB
  const Tensor b = Tensor::zeros(*device, {512, 1024});  // 2 MiB
  CHECK_THROWS_WITH(Tensor::zeros(*device, {512, 1024}),
                    Catch::Contains("test/Backend") && Catch::Contains("limit is 4.0 MiB") &&
                        Catch::Contains("2.0 MiB  f32 [512, 1024]") &&
                        Catch::Contains("1.0 MiB  f32 [256, 1024]") &&
                        Catch::Contains("runtime.memory_limit"));
  device->begin_step();
  const Tensor c = ops::exp(Tensor::zeros(*device, {64, 1024}));
  CHECK_THROWS_WITH(ops::exp(b), Catch::Contains("0.3 MiB  f32 [64, 1024] of exp"));
  CHECK(device->memory().peak_bytes <= 4 << 20);
}

TEST_CASE("memory of dropped tensors is used again", "[memory]") {
  const auto device = open_any();
  const void* memory = Tensor::zeros(*device, {1000}).view().data;
  const auto allocations = device->memory().backend_allocations;
  for (int i = 0; i < 10; ++i) CHECK(Tensor::zeros(*device, {1000}).view().data == memory);
  CHECK(device->memory().backend_allocations == allocations);
}

TEST_CASE("a device counts FLOPs of the model, forward and backward", "[memory]") {
  const auto device = open_any();
  const Tensor a = Tensor::zeros(*device, {3, 5}), b = Tensor::zeros(*device, {5, 7});
  ops::matmul(a, b);
  CHECK(device->flops() == 2 * 3 * 5 * 7);
  GradientSlot slot;
  const Tensor w = make_leaf(b, slot);
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    loss = ops::sum(ops::matmul(a, w));
  }
  tape.backward(loss);
  // Forward again, and one product for dw; da is not needed.
  CHECK(device->flops() == 3 * 2 * 3 * 5 * 7);
}

}  // namespace trivet::test
