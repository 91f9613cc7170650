// SPDX-License-Identifier: Apache-2.0
// Tensors, shapes and maps of them: moving, reading, sharing, refusing.
#include "trivet/tensor.h"

#include <cmath>
#include <numeric>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tensor/nested_map.h"

namespace trivet::test {

TEST_CASE("shapes count, compare and refuse", "[tensor]") {
  const Shape shape{2, 3, 4};
  CHECK(shape.size() == 24);
  CHECK(shape[-1] == 4);
  CHECK(shape.to_string() == "[2, 3, 4]");
  CHECK(Shape().size() == 1);
  CHECK(Shape{0, 5}.size() == 0);
  CHECK(shape != Shape{2, 3});
  CHECK_THROWS_WITH(shape[3], Catch::Contains("axis 3") && Catch::Contains("[2, 3, 4]"));
  CHECK_THROWS_WITH((Shape{1, 1, 1, 1, 1, 1, 1}), Catch::Contains("at most 6"));
  CHECK_THROWS_WITH((Shape{2, -3}), Catch::Contains("negative"));
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THROWS_WITH((Shape{huge, huge}).size(), Catch::Contains("too many"));
}

TEST_CASE("values written are the values read, for every type", "[tensor]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    const std::vector<float> floats{1.5F, -2, 3e30F};
    const std::vector<std::int32_t> ints{1, -2, 1 << 30};
    const std::vector<std::uint8_t> bytes{0, 128, 255};
    CHECK(Tensor::from<float>(*device, floats, {3}).to_host<float>() == floats);
    CHECK(Tensor::from<std::int32_t>(*device, ints, {3}).to_host<std::int32_t>() == ints);
    CHECK(Tensor::from<std::uint8_t>(*device, bytes, {3}).to_host<std::uint8_t>() == bytes);
    CHECK(Tensor::full(*device, {2}, 7, DType::i32).to_host<std::int32_t>() ==
          std::vector<std::int32_t>{7, 7});
    CHECK(Tensor::scalar(*device, 2.5F).item() == 2.5F);
    CHECK_THROWS_WITH(Tensor::from<float>(*device, floats, {4}), Catch::Contains("4 elements"));
    CHECK_THROWS_WITH(Tensor::full(*device, {2}, 0).to_host<std::int32_t>(),
                      Catch::Contains("f32 [2]") && Catch::Contains("i32"));
  }
}

TEST_CASE("a strided view is read in row-major order", "[tensor]") {
  std::vector<float> values(6);
  std::iota(values.begin(), values.end(), 0.0F);
  for (const NamedBackend& backend : named_backends()) {
    const auto device = open(backend);
    const Tensor x = ops::transpose(Tensor::from<float>(*device, values, {2, 3}), {1, 0});
    CHECK_FALSE(x.contiguous());
    CHECK(x.to_host<float>() == std::vector<float>{0, 3, 1, 4, 2, 5});
    CHECK(ops::slice(x, 0, 1, 2).to_host<float>() == std::vector<float>{1, 4});
  }
}

TEST_CASE("a host tensor moves to a host-visible device without a copy", "[tensor]") {
  for (const NamedBackend& backend : named_backends()) {
    INFO(backend.name);
    const auto device = open(backend);
    Tensor batch = Tensor::host({2, 2});
    const std::span<float> values = batch.mutable_span<float>();
    std::iota(values.begin(), values.end(), 1.0F);
    CHECK(reinterpret_cast<std::uintptr_t>(values.data()) % 64 == 0);
    const Tensor moved = batch.to(*device);
    CHECK(&moved.device() == device.get());
    CHECK(moved.to_host<float>() == std::vector<float>{1, 2, 3, 4});
    CHECK((moved.view().data == batch.view().data) == device->host_visible());
    CHECK(moved.to(*device).same_as(moved));
    CHECK(batch.on_host());
  }
}

TEST_CASE("tensors move between devices", "[tensor]") {
  const auto first = open(named_backends().front()), second = open(named_backends().back());
  const std::vector<float> values{1, 2, 3};
  const Tensor x = Tensor::from<float>(*first, values, {3}).to(*second);
  CHECK(&x.device() == second.get());
  CHECK(x.to_host<float>() == values);
}

TEST_CASE("host memory is handed out again", "[tensor]") {
  const void* memory = Tensor::host({1000, 3}).view().data;
  for (int i = 0; i < 10; ++i) CHECK(Tensor::host({3, 1000}).view().data == memory);
}

TEST_CASE("spans are refused where they would be wrong", "[tensor]") {
  const auto device = open_any();
  Tensor x = Tensor::zeros(*device, {2, 3});
  CHECK(x.span<float>().size() == 6);
  CHECK_THROWS_WITH(x.span<std::int32_t>(), Catch::Contains("i32"));
  CHECK_THROWS_WITH(ops::transpose(x, {1, 0}).span<float>(), Catch::Contains("not contiguous"));
  CHECK_THROWS_WITH(Tensor::host({1}).device(), Catch::Contains("not on a device"));
  CHECK_THROWS_WITH(x.item(), Catch::Contains("exactly one"));
  const auto hidden = open(named_backends()[1]);
  REQUIRE_FALSE(hidden->host_visible());
  CHECK_THROWS_WITH(Tensor::zeros(*hidden, {2}).span<float>(), Catch::Contains("to_host"));
}

TEST_CASE("assigning bytes changes a tensor that others see", "[tensor]") {
  for (const NamedBackend& backend : named_backends()) {
    const auto device = open(backend);
    Tensor x = Tensor::zeros(*device, {2});
    const Tensor same = x;
    const std::vector<float> values{3, 4};
    x.assign_bytes(std::as_bytes(std::span(values)));
    CHECK(same.to_host<float>() == values);
    const std::vector<float> more{1, 2, 3};
    CHECK_THROWS_WITH(x.assign_bytes(std::as_bytes(std::span(more))), Catch::Contains("8 bytes"));
  }
}

TEST_CASE("a nested map keeps its order and returns the part below a prefix", "[tensor]") {
  const auto device = open_any();
  NestedMap map{{"image", Tensor::host({1})}, {"text/ids", Tensor::host({2})}};
  map.set("text/paddings", Tensor::host({3}));
  map.set("image", Tensor::host({4}));
  CHECK(map.size() == 3);
  CHECK(map.begin()->first == "image");
  CHECK(map.at("image").shape() == Shape{4});
  const NestedMap text = map.child("text");
  CHECK(text.size() == 2);
  CHECK(text.at("ids").shape() == Shape{2});
  CHECK(map.child("tex").empty());
  CHECK_THROWS_WITH(map.at("label"), Catch::Contains("label") && Catch::Contains("text/paddings"));
  CHECK_FALSE(map.to(*device).at("image").on_host());
  map.erase("image");
  CHECK_FALSE(map.contains("image"));
}

}  // namespace trivet::test
