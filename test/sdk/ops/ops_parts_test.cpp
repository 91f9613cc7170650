// SPDX-License-Identifier: Apache-2.0
// Tensors in many parts: their values and gradients, and the work.
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "trivet/ops/ops_vision.h"
#include "trivet/tape.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;

// The first backend, with a counter of elements moved by `copy`.
std::int64_t copied = 0;
const tv_backend* counting_backend() {
  static const tv_backend table = [] {
    tv_backend made = *any_backend();
    made.copy = [](tv_ctx* ctx, const tv_view* to, const tv_view* from) {
      std::int64_t elements = 1;
      for (int axis = 0; axis < to->rank; ++axis) elements *= to->shape[axis];
      copied += elements;
      return any_backend()->copy(ctx, to, from);
    };
    return made;
  }();
  return &table;
}

// Elements that are copied by y = op(x) and its gradient.
std::int64_t copies_of(Device& device, const Shape& shape,
                       const std::function<Tensor(const Tensor&)>& op) {
  GradientSlot slot;
  const Tensor x = make_leaf(Tensor::full(device, shape, 1), slot);
  Tape tape;
  Tensor y;
  copied = 0;
  {
    Tape::Recording recording(tape);
    y = op(x);
  }
  tape.backward(y, Tensor::full(device, y.shape(), 1));
  CHECK(slot.gradient.to_host<float>() ==
        std::vector<float>(static_cast<std::size_t>(shape.size()), 1));
  return copied;
}

}  // namespace

TEST_CASE("many parts are joined and split as few are", "[ops]") {
  for (const std::int64_t parts : {1, 4, 5, 6, 7, 16, 17, 40}) {
    check({.name = "concat and split of " + std::to_string(parts),
           .inputs = {{{2, 2 * parts}}, {{2, 3}}},
           .op =
               [=](auto in) {
                 std::vector<Tensor> all = ops::split(in[0], 1, static_cast<int>(parts));
                 all.insert(all.begin() + parts / 2, in[1]);
                 all[0] = ops::mul(all[0], 2);
                 return ops::concat(all, 1);
               },
           .reference =
               [=](auto in) {
                 return filled({2, 2 * parts + 3}, [&](Indices i) {
                   const std::int64_t at = i[1] - 2 * (parts / 2);
                   const bool own = at >= 0 && at < 3;
                   const double x =
                       own ? in[1].at({i[0], at}) : in[0].at({i[0], at < 0 ? i[1] : i[1] - 3});
                   return x * (i[1] < (parts == 1 ? 3 : 2) ? 2 : 1);
                 });
               }});
  }
  const auto device = open_any();
  const Tensor x = Tensor::zeros(*device, {2, 0});
  CHECK(ops::concat(ops::split(x, 1, 9), 1).shape() == x.shape());
}

TEST_CASE("the work of concat and split does not grow with the square of the parts", "[ops]") {
  const auto device = Device::open(counting_backend(), {.key = "counting"});
  const Shape shape{4, 512};
  const auto apart_and_together = [](int parts) {
    return [parts](const Tensor& x) { return ops::concat(ops::split(x, 1, parts), 1); };
  };
  const auto size = shape.size();
  // Forward one pass; back one for each level of a tree of parts.
  CHECK(copies_of(*device, shape, apart_and_together(4)) <= 4 * size);
  CHECK(copies_of(*device, shape, apart_and_together(512)) <= 14 * size);
  const auto depthwise = [](const Tensor& image) {
    const Tensor w = Tensor::full(image.device(), {1, 1, 1, image.dim(3)}, 1);
    return ops::conv2d(image, w, {}, {.groups = image.dim(3)});
  };
  const Shape few{1, 4, 4, 32}, many{1, 4, 4, 256};
  const std::int64_t of_few = copies_of(*device, few, depthwise);
  CHECK(copies_of(*device, many, depthwise) <= 2 * (many.size() / few.size()) * of_few);
}

}  // namespace trivet::test
