// SPDX-License-Identifier: Apache-2.0
// Ops over the blocks of an axis of a mesh, as far as one process has all of them.
#include "trivet/ops/ops_mesh.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ops/op_support.h"

namespace trivet {
namespace {

// Adds both before anything else that flows to x: the sum does not depend on what that is.
void fan_out_vjp(Vjp& v) {
  const Tensor &a = v.grad_output(0), &b = v.grad_output(1);
  if (!a.defined() || !b.defined()) return v.add(0, a.defined() ? a : b);
  if (v.may_overwrite_grad_output(0) && b.contiguous()) {
    Tensor sum = a;
    detail::add_in_place(sum, b);
    return v.add(0, std::move(sum));
  }
  v.add(0, detail::binary("fan_out", TV_ADD, a, b));
}
constexpr OpDef kFanOut{"fan_out", fan_out_vjp};

std::array<Tensor, 2> two_of(const Tensor& x) {
  std::array<Tensor, 2> both = {Tensor(x.impl()->alias()), Tensor(x.impl()->alias())};
  record(kFanOut, {&x, 1}, both, {}, nullptr, 0);
  return both;
}

// One x for each value of the tree of these arities. Nodes of two mirror the tree: of n branches
// (((g0 + g1) + g2) + ..) the last is split off first.
void fan_into(std::vector<Tensor>& out, const Tensor& x, std::span<const std::int64_t> arities) {
  if (arities.empty()) {
    out.push_back(x);
    return;
  }
  std::vector<Tensor> branches(static_cast<std::size_t>(arities.back()));
  Tensor rest = x;
  for (std::size_t i = branches.size() - 1; i > 0; --i) {
    std::array<Tensor, 2> both = two_of(rest);
    branches[i] = std::move(both[1]);
    rest = std::move(both[0]);
  }
  branches.front() = std::move(rest);
  const auto lower = arities.first(arities.size() - 1);
  for (const Tensor& branch : branches) fan_into(out, branch, lower);
}

void expect_blocks(const char* op, std::span<const Tensor> blocks, const MeshAxis& axis) {
  if (std::ssize(blocks) != axis.count()) {
    detail::wrong(op, std::to_string(axis.count()) + " blocks", std::to_string(blocks.size()));
  }
  for (const Tensor& block : blocks) detail::expect_defined(op, "block", block);
}

}  // namespace

std::vector<Tensor> ops::fan_out(const Tensor& x, const MeshAxis& axis) {
  detail::expect_defined("fan_out", "x", x);
  if (!axis.is_split() || !x.requires_grad()) {
    return std::vector<Tensor>(static_cast<std::size_t>(axis.count()), x);
  }
  detail::expect("fan_out", "x", x);
  std::vector<Tensor> out;
  fan_into(out, x, axis.tree().arities());
  return out;
}

Tensor ops::sum_blocks(std::span<const Tensor> blocks, const MeshAxis& axis) {
  expect_blocks("sum_blocks", blocks, axis);
  for (const Tensor& block : blocks) {
    if (block.shape() == blocks.front().shape()) continue;
    detail::wrong("sum_blocks", "blocks of shape " + blocks.front().shape().to_string(),
                  block.shape().to_string());
  }
  if (!axis.is_split()) return blocks.front();
  TreeFold<Tensor> fold(axis.tree());
  Tensor total;
  for (const Tensor& block : blocks) {
    total = fold.add(block, [](Tensor& sum, const Tensor& part) { sum = add(sum, part); })
                .value_or(Tensor());
  }
  return total;
}

Tensor ops::gather_blocks(std::span<const Tensor> blocks, int dim, const MeshAxis& axis) {
  expect_blocks("gather_blocks", blocks, axis);
  return concat(blocks, dim);
}

std::vector<Tensor> ops::split_blocks(const Tensor& x, int dim, const MeshAxis& axis) {
  detail::expect_defined("split_blocks", "x", x);
  if (!axis.is_split()) return {x};
  if (x.dim(dim) % axis.extent() != 0) {
    detail::wrong("split_blocks", "an extent that is a multiple of the axis'",
                  std::to_string(x.dim(dim)) + " and " + std::to_string(axis.extent()));
  }
  return split(x, dim, static_cast<int>(axis.extent()));
}

}  // namespace trivet
