// SPDX-License-Identifier: Apache-2.0
// OptimizerRunner, through the learner: slots of the types that an optimizer wants.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "tiny/backend.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tensor/device.h"
#include "trivet/train/learner.h"
#include "trivet/train/optim_update.h"

namespace optimizer_runner_test {
namespace {

using trivet::DType;
using trivet::OptimizerSegment;
using trivet::OptimizerStep;
using trivet::Parameter;

struct Seen {
  std::vector<std::int64_t> sizes;
  std::vector<DType> types;
};

// Counts updates in a slot, which is bf16 for the variables named b and f32 for others.
class Counter final : public trivet::Optimizer {
 public:
  explicit Counter(Seen& seen) : seen_(seen) {}
  std::vector<std::string> slots() const override { return {"count"}; }
  double slot_start(std::string_view) const override { return 0.5; }
  DType slot_dtype(std::string_view, const Parameter& parameter) const override {
    return parameter.path().starts_with("b") ? DType::bf16 : DType::f32;
  }
  void update(const OptimizerStep&, std::span<OptimizerSegment> segments) override {
    seen_ = {};
    for (OptimizerSegment& segment : segments) {
      trivet::Tensor& count = segment.slots[0];
      seen_.sizes.push_back(segment.value.size());
      seen_.types.push_back(count.dtype());
      const trivet::Tensor next = trivet::ops::add(trivet::ops::cast(count, DType::f32), 1);
      trivet::assign(count, trivet::ops::cast(next, count.dtype()));
    }
  }

 private:
  Seen& seen_;
};

class Constant final : public trivet::Schedule {
 public:
  double value(std::int64_t) const override { return 0.1; }
};

}  // namespace

TEST_CASE("slots have the type that the optimizer wants, and types part segments") {
  const auto device = trivet::test::open_device(GENERATE(from_range(trivet::test::backends())));
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  for (const char* path : {"a0", "a1", "b0", "b1", "c0"}) store.add(path, {3}, {});
  store.build();
  Seen seen;
  trivet::Learner learner(store, std::make_unique<Counter>(seen), std::make_unique<Constant>());
  learner.begin().apply_gradients();
  learner.begin().apply_gradients();
  // Neighbors begin at multiples of 16 numbers.
  CHECK(seen.sizes == std::vector<std::int64_t>{19, 19, 3});
  CHECK(seen.types == std::vector<DType>{DType::f32, DType::bf16, DType::f32});
  std::vector<std::size_t> bytes;
  for (const auto& [name, slot] : learner.slots()) {
    INFO(name);
    bytes.push_back(slot.bytes());
    CHECK(slot.to_host<float>() == std::vector<float>(3, 2.5F));
  }
  CHECK(bytes == std::vector<std::size_t>{12, 12, 6, 6, 12});
}

TEST_CASE("a slot of a type that the backend cannot store is refused") {
  tv_backend table = *tiny::get();
  table.info = [](tv_info* out) -> tv_status {
    const tv_status status = tiny::get()->info(out);
    out->storage_dtypes &= ~(1U << static_cast<unsigned>(TV_BF16));
    return status;
  };
  const auto device = trivet::Device::open(&table, {.key = "poor/Backend"});
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  store.add("b0", {3}, {});
  store.build();
  Seen seen;
  CHECK_THROWS_WITH(
      trivet::Learner(store, std::make_unique<Counter>(seen), std::make_unique<Constant>()),
      Catch::Contains("poor/Backend cannot store bf16, the type of the optimizer's slot 'count'"));
}

TEST_CASE("optim_update takes slots in bf16 and no integers") {
  const auto device = trivet::test::open_device(GENERATE(from_range(trivet::test::backends())));
  const auto numbers = [&](float value) {
    return trivet::Tensor::full(*device, {4}, static_cast<double>(value));
  };
  tv_optim update{};
  update.kind = TV_SGD;
  update.grad_scale = 1;
  update.lr = 0.5F;
  update.momentum = 1;
  OptimizerSegment segment{numbers(1), numbers(2), {trivet::ops::cast(numbers(3), DType::bf16)}};
  trivet::optim_update(update, segment);
  CHECK(segment.slots[0].dtype() == DType::bf16);
  CHECK(segment.slots[0].to_host<float>() == std::vector<float>(4, 5));
  CHECK(segment.value.to_host<float>() == std::vector<float>(4, -1.5F));
  segment.slots[0] = trivet::ops::cast(numbers(3), DType::u8);
  CHECK_THROWS_WITH(trivet::optim_update(update, segment), Catch::Contains("f32 as slot"));
}

}  // namespace optimizer_runner_test
