// SPDX-License-Identifier: Apache-2.0
// Ops over the blocks of an axis of a mesh. Each is that of the blocks of this process, and one
// node for the exchange with the processes that have the others.
#include "trivet/ops/ops_mesh.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ops/op_support.h"
#include "tensor/axis_processes.h"
#include "trivet/tensor/meta_device.h"

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

// Between the processes that share an axis.
struct Exchange {
  detail::AxisProcesses* processes;  // null: alone on a meta device
  int dim;                           // along which they have parts
  std::int64_t begin, own, all;      // elements along it
  std::int64_t sharing;              // processes
};

Exchange exchange_of(const char* op, const Tensor& x, const MeshAxis& axis) {
  detail::expect(op, "x", x);
  if (axis.processes() == nullptr && !is_meta(x.device())) {
    detail::wrong(op, "all blocks, or the processes that have the others",
                  std::to_string(axis.count()) + " of " + std::to_string(axis.extent()));
  }
  // The tape may live longer than the axis.
  if (Tape* tape = Tape::current(); tape != nullptr) tape->keep(axis.processes());
  return {.processes = axis.processes().get(),
          .dim = 0,
          .begin = 0,
          .own = 0,
          .all = 0,
          .sharing = axis.extent() / axis.count()};
}

// Of a dimension of which each device has `block` elements.
Exchange exchange_of(const char* op, const Tensor& x, int dim, std::int64_t block,
                     const MeshAxis& axis) {
  Exchange exchange = exchange_of(op, x, axis);
  exchange.dim = dim < 0 ? dim + x.rank() : dim;
  exchange.begin = axis.first() * block;
  exchange.own = axis.count() * block;
  exchange.all = axis.extent() * block;
  return exchange;
}

// This and gather_into are the only ways to the other processes, and count what goes there: also on
// a meta device, which has none.
Tensor summed(const Exchange& exchange, const Tensor& own) {
  detail::count_exchange(AxisExchange::Kind::sum, own, 0, exchange.sharing);
  if (exchange.processes == nullptr) return Tensor::empty(own.device(), own.shape());
  return exchange.processes->sum(detail::packed(own));
}

void gather_into(Tensor& whole, const Exchange& exchange, const Tensor& own) {
  detail::count_exchange(AxisExchange::Kind::gather, own, 0, exchange.sharing);
  if (exchange.processes != nullptr) exchange.processes->gather(own, exchange.dim, whole);
}

Tensor gathered(const Exchange& exchange, const Tensor& own) {
  Shape shape = own.shape();
  shape.set(exchange.dim, exchange.all);
  Tensor whole = Tensor::empty(own.device(), shape, own.dtype());
  gather_into(whole, exchange, own);
  return whole;
}

Tensor own_part(const Exchange& exchange, const Tensor& whole) {
  return detail::every(whole, exchange.dim, exchange.begin, 1, exchange.own);
}

void shared_input_vjp(Vjp& v) {
  v.add(0, summed(v.attributes<Exchange>(), v.grad_output()));
}
constexpr OpDef kSharedInput{"fan_out", shared_input_vjp};

void process_sum_vjp(Vjp& v) {
  v.add(0, v.grad_output());
}
constexpr OpDef kProcessSum{"sum_blocks", process_sum_vjp};

void process_gather_vjp(Vjp& v) {
  v.add(0, own_part(v.attributes<Exchange>(), v.grad_output()));
}
constexpr OpDef kProcessGather{"gather_blocks", process_gather_vjp};

void process_part_vjp(Vjp& v) {
  const auto& exchange = v.attributes<Exchange>();
  // Weights are gathered into their gradient itself.
  Vjp::Target target = v.target(0);
  if (target.beta == 0 && target.gradient.contiguous()) {
    return gather_into(target.gradient, exchange, v.grad_output());
  }
  detail::accumulate(target, gathered(exchange, v.grad_output()));
}
constexpr OpDef kProcessPart{"split_blocks", process_part_vjp};

// On the tape, as `op`.
Tensor recorded(const OpDef& op, const Tensor& x, const Exchange& exchange, Tensor y) {
  record(op, {x}, y, {}, exchange);
  return y;
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
  if (axis.is_shared()) {
    const Exchange exchange = exchange_of("fan_out", x, axis);
    fan_into(out, recorded(kSharedInput, x, exchange, Tensor(x.impl()->alias())),
             axis.own_tree().arities());
  } else {
    fan_into(out, x, axis.tree().arities());
  }
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
  TreeFold<Tensor> fold(axis.own_tree());
  Tensor total;
  for (const Tensor& block : blocks) {
    total = fold.add(block, [](Tensor& sum, const Tensor& part) { sum = add(sum, part); })
                .value_or(Tensor());
  }
  if (!axis.is_shared()) return total;
  const Exchange exchange = exchange_of("sum_blocks", total, axis);
  return recorded(kProcessSum, total, exchange, summed(exchange, total));
}

Tensor ops::gather_blocks(std::span<const Tensor> blocks, int dim, const MeshAxis& axis) {
  expect_blocks("gather_blocks", blocks, axis);
  if (!axis.is_shared()) return concat(blocks, dim);
  const Tensor own = blocks.size() == 1 ? blocks.front() : concat(blocks, dim);
  const Exchange exchange = exchange_of("gather_blocks", own, dim, blocks.front().dim(dim), axis);
  return recorded(kProcessGather, own, exchange, gathered(exchange, own));
}

std::vector<Tensor> ops::split_blocks(const Tensor& x, int dim, const MeshAxis& axis) {
  detail::expect_defined("split_blocks", "x", x);
  if (!axis.is_split()) return {x};
  if (x.dim(dim) % axis.extent() != 0) {
    detail::wrong("split_blocks", "an extent that is a multiple of the axis'",
                  std::to_string(x.dim(dim)) + " and " + std::to_string(axis.extent()));
  }
  if (!axis.is_shared()) return split(x, dim, static_cast<int>(axis.extent()));
  const Exchange exchange = exchange_of("split_blocks", x, dim, x.dim(dim) / axis.extent(), axis);
  const Tensor own = recorded(kProcessPart, x, exchange, [&] {
    const NoGrad no_grad;
    return own_part(exchange, x);
  }());
  return axis.count() == 1 ? std::vector{own} : split(own, dim, static_cast<int>(axis.count()));
}

}  // namespace trivet
