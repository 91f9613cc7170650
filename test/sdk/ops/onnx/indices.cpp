// SPDX-License-Identifier: Apache-2.0
// Operators that select elements by index.
#include <numeric>

#include "sdk/ops/onnx/operators.h"

namespace trivet::test::onnx {
namespace {

// y[.., i, ..] = x[.., indices[.., i, ..], ..] along the axis.
Tensor gathered_elements(const Call& c) {
  const Tensor &x = c.f32(0), &given = c.any(1);
  const int axis = x.shape().index(static_cast<int>(c.node.integer("axis", 0)));
  std::vector<std::int64_t> index(static_cast<std::size_t>(given.rank()));
  std::vector<std::int32_t> flat;
  for (const std::int64_t chosen : c.integers(1)) {
    std::int64_t at = 0;
    for (int i = 0; i < x.rank(); ++i) {
      const std::int64_t there = chosen < 0 ? chosen + x.dim(i) : chosen;
      at = at * x.dim(i) + (i == axis ? there : index[static_cast<std::size_t>(i)]);
    }
    flat.push_back(static_cast<std::int32_t>(at));
    for (int i = given.rank(); i-- > 0;) {
      std::int64_t& step = index[static_cast<std::size_t>(i)];
      if (++step < given.dim(i)) break;
      step = 0;
    }
  }
  const Tensor numbers = Tensor::from<std::int32_t>(c.device, flat, given.shape());
  return ops::reshape(ops::gather_rows(ops::reshape(x, {-1, 1}), numbers), given.shape());
}

Tensor one_hot(const Call& c) {
  const Tensor index = ops::cast(c.any(0), DType::i32);
  const auto depth = static_cast<std::int64_t>(c.any(1).item());
  const std::vector<float> off_on = c.f32(2).to_host<float>();
  std::vector<std::int32_t> classes(static_cast<std::size_t>(depth));
  std::iota(classes.begin(), classes.end(), 0);
  std::vector<std::int32_t> wanted = index.to_host<std::int32_t>();
  for (std::int32_t& i : wanted) i += i < 0 ? static_cast<std::int32_t>(depth) : 0;
  std::vector<std::int64_t> extents = extents_of(index);
  std::int64_t axis = c.node.integer("axis", -1);
  axis += axis < 0 ? index.rank() + 1 : 0;
  std::vector<std::int64_t> line(extents.size() + 1, 1);
  line[static_cast<std::size_t>(axis)] = depth;
  extents.insert(extents.begin() + axis, 1);
  const Tensor here = Tensor::from<std::int32_t>(c.device, wanted, shape_of(extents));
  const Tensor all = Tensor::from<std::int32_t>(c.device, classes, shape_of(line));
  return ops::where(ops::equal(here, all), c.constant(off_on[1]), c.constant(off_on[0]));
}

}  // namespace

void add_indices(Operators& all) {
  all["GatherElements"] = [](const Call& c) -> Outputs { return {gathered_elements(c)}; };
  all["OneHot"] = [](const Call& c) -> Outputs { return {one_hot(c)}; };
}

}  // namespace trivet::test::onnx
