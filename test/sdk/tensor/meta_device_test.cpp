// SPDX-License-Identifier: Apache-2.0
// Devices on a meta device: shapes, FLOPs and memory of ops that are not computed.
#include "trivet/tensor/meta_device.h"

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/error.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"

namespace trivet::test {
namespace {

std::unique_ptr<Device> abstract(const tv_backend* like = any_backend()) {
  return open_meta_device(like, {.key = "test/Backend"});
}

// A step of a model with all counted ops, on zeros.
FlopCount step_flops(Device& device) {
  const FlopCount before = device.flop_count();
  GradientSlot of_w, of_table;
  const Tensor w = make_leaf(Tensor::zeros(device, {8, 8}), of_w);
  const Tensor table = make_leaf(Tensor::zeros(device, {10, 8}), of_table);
  const Tensor ids = Tensor::zeros(device, {6}, DType::i32);
  const Tensor ones = Tensor::full(device, {6}, 1);
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    const Tensor q = ops::reshape(
        ops::linear(ops::gather_rows(table, ids), w, {}, Activation::none), {2, 3, 2, 4});
    const Tensor mixed = ops::attention(q, q, q, {.causal = true});
    loss = ops::linear_cross_entropy(ops::reshape(mixed, {6, 8}), table, ids, ones,
                                     {.transpose_w = true})
               .loss;
  }
  tape.backward(loss);
  const FlopCount& now = device.flop_count();
  return {now.flops - before.flops, now.model_flops - before.model_flops,
          now.attention_flops - before.attention_flops};
}

}  // namespace

TEST_CASE("FLOPs are the products', by hand, on every backend and on a meta device", "[meta]") {
  // linear: 6 rows, 8 x 8, and two products of that size back; head: 6 rows, 8 x 10, likewise.
  const double products = 3 * (2 * 6 * 8 * 8) + 3 * (2 * 6 * 8 * 10);
  // 12 B H D for each pair of positions, of which 1 + 2 + 3 of 3 * 3 see each other.
  const double pair = 12 * 2 * 2 * 4;
  for (const NamedBackend& backend : named_backends()) {
    for (const bool meta : {false, true}) {
      INFO(backend.name << (meta ? " on a meta device" : ""));
      const auto device = meta ? abstract(backend.table) : open(backend);
      const FlopCount counted = step_flops(*device);
      CHECK(counted.flops == products + pair * 6);
      CHECK(counted.model_flops == products + pair * 9);
      CHECK(counted.attention_flops == pair * 9);
    }
  }
}

TEST_CASE("a model on a meta device uses no memory and draws no weights", "[meta]") {
  const auto device = abstract();
  CHECK(is_meta(*device));
  CHECK_FALSE(is_meta(*open_any()));
  ParameterStore store(*device, RngKey(1));
  // 4 TB each, with its gradient.
  constexpr std::int64_t kWide = 1 << 20;
  Parameter& w = store.add("w", {kWide, kWide}, {});
  store.build();
  CHECK(store.count() == kWide * kWide);
  CHECK(device->memory().persistent_bytes >= std::uint64_t{8} * kWide * kWide);
  const Tensor x = Tensor::zeros(*device, {3, kWide});
  CHECK(ops::matmul(x, w.value()).shape() == Shape{3, kWide});
  CHECK(device->flops() == 3.0 * 2 * 3 * kWide * kWide - 2.0 * 3 * kWide * kWide * 2);
}

TEST_CASE("tensors on a meta device read as zeros, and wrong shapes are errors as ever", "[meta]") {
  const auto device = abstract();
  const float values[] = {1, 2, 3};
  const Tensor x = Tensor::from<float>(*device, values, {3});
  CHECK(x.to_host<float>() == std::vector<float>{0, 0, 0});
  CHECK_THROWS_WITH(ops::matmul(Tensor::zeros(*device, {2, 3}), Tensor::zeros(*device, {2, 3})),
                    Catch::Contains("[matmul] expected"));
  CHECK_THROWS_AS(open_meta_device(nullptr), Error);
  tv_backend incomplete = *any_backend();
  incomplete.matmul = nullptr;
  CHECK_THROWS_WITH(open_meta_device(&incomplete),
                    Catch::Contains("lacks the mandatory") && Catch::Contains("matmul"));
}

TEST_CASE("a step on a meta device uses the backend's fallbacks and plans the same memory",
          "[meta]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    std::vector<std::uint64_t> arena;
    std::vector<std::vector<std::string>> composed;
    for (const bool meta : {false, true}) {
      const auto device = meta ? abstract(backend.table) : open(backend);
      for (int step = 0; step < 2; ++step) {
        device->begin_step();
        step_flops(*device);
        device->end_step();
      }
      arena.push_back(device->memory().arena_bytes);
      composed.emplace_back();
      for (const KernelUse& use : device->kernel_uses()) {
        if (use.fallback > 0) composed.back().push_back(use.kernel);
      }
    }
    CHECK(arena[0] == arena[1]);
    CHECK(composed[0] == composed[1]);
  }
}

}  // namespace trivet::test
