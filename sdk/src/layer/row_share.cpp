// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/row_share.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "layer/weight_parts.h"
#include "ops/op_support.h"
#include "tensor/axis_processes.h"
#include "tensor/packing.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {
namespace {

constexpr const char* kDispatch = "dispatch";
constexpr const char* kCombine = "combine";

// What moves between the processes: of the tensor of a shard, which has rows for all processes, and
// of the parts that this process gets, of all shards, one after another.
class Moves {
 public:
  // From `n` of each shard, and the bytes of each.
  Moves(std::shared_ptr<ProcessGroup> group, std::size_t rank, std::int64_t rows,
        std::vector<std::int64_t> counts)
      : group_(std::move(group)), rank_(rank), rows_(rows), counts_(std::move(counts)) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t count(std::size_t shard) const { return counts_[shard]; }
  std::int64_t own_count() const { return counts_[rank_]; }
  std::int64_t shards() const { return std::ssize(counts_); }
  std::int64_t count_of_all() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  }

  // x [all rows, own_count(), ...] to the parts, [rows() * count_of_all(), ...], or back.
  Tensor to_parts(const Tensor& x) const {
    Tensor parts = Tensor::empty(x.device(), shape_of_parts(x), x.dtype());
    detail::count_exchange(AxisExchange::Kind::exchange_rows, x);
    if (group_ == nullptr) return parts;
    move(detail::packed(x), parts, Way::to_parts);
    return parts;
  }
  Tensor to_shard(const Tensor& parts) const {
    Tensor x = Tensor::empty(parts.device(), shape_of_shard(parts), parts.dtype());
    detail::count_exchange(AxisExchange::Kind::exchange_rows, x);
    if (group_ == nullptr) return x;
    move(detail::packed(parts), x, Way::to_shard);
    return x;
  }

 private:
  enum class Way { to_parts, to_shard };
  // Of the flat forms: [n, ...] and [all rows, own_count(), ...].
  Shape shape_of_parts(const Tensor& x) const {
    std::vector<std::int64_t> dims{rows_ * count_of_all()};
    for (int i = 2; i < x.rank(); ++i) dims.push_back(x.dim(i));
    return Shape(dims);
  }
  Shape shape_of_shard(const Tensor& parts) const {
    std::vector<std::int64_t> dims{rows_ * shards(), own_count()};
    for (int i = 1; i < parts.rank(); ++i) dims.push_back(parts.dim(i));
    return Shape(dims);
  }

  void move(const Tensor& from, Tensor& to, Way way) const {
    const bool is_direct = from.device().host_visible();
    const std::vector<std::byte> from_copy = is_direct ? std::vector<std::byte>() : from.to_bytes();
    std::vector<std::byte> to_copy(is_direct ? 0 : to.bytes());
    const std::span<const std::byte> source =
        is_direct ? std::span(static_cast<const std::byte*>(from.view().data), from.bytes())
                  : std::span(from_copy);
    const std::span<std::byte> target =
        is_direct ? std::span(static_cast<std::byte*>(to.mutable_view().data), to.bytes())
                  : std::span(to_copy);
    std::size_t inner = size_of(from.dtype());
    for (int i = way == Way::to_parts ? 2 : 1; i < from.rank(); ++i) {
      inner *= static_cast<std::size_t>(from.dim(i));
    }
    const auto bytes_of = [&](std::int64_t count) {
      return static_cast<std::size_t>(rows_ * count) * inner;
    };
    std::vector<std::span<const std::byte>> mine;
    std::vector<std::span<std::byte>> theirs;
    std::size_t part = 0;
    for (std::size_t r = 0; r < counts_.size(); ++r) {
      const std::size_t own = bytes_of(own_count()), others = bytes_of(counts_[r]);
      const bool sends_own = way == Way::to_parts;
      mine.push_back(source.subspan(sends_own ? r * own : part, sends_own ? own : others));
      theirs.push_back(target.subspan(sends_own ? part : r * own, sends_own ? others : own));
      part += others;
    }
    std::ranges::copy(mine[rank_], theirs[rank_].begin());
    group_->exchange(mine, theirs);
    if (!is_direct) to.assign_bytes(target);
  }

  std::shared_ptr<ProcessGroup> group_;
  std::size_t rank_;
  std::int64_t rows_;
  std::vector<std::int64_t> counts_;
};

void dispatch_vjp(Vjp& v) {
  v.add(0, v.attributes<const Moves*>()->to_shard(v.grad_output()));
}
constexpr OpDef kDispatchOp{kDispatch, dispatch_vjp};

void combine_vjp(Vjp& v) {
  v.add(0, v.attributes<const Moves*>()->to_parts(v.grad_output()));
}
constexpr OpDef kCombineOp{kCombine, combine_vjp};

Tensor recorded(const OpDef& op, const Tensor& x, Tensor y, const std::shared_ptr<Moves>& moves) {
  if (Tape* tape = Tape::current(); tape != nullptr) tape->keep(moves);
  const Moves* const attributes = moves.get();
  record(op, {x}, y, {}, attributes);
  return y;
}

}  // namespace

std::vector<std::uint64_t> RowShare::gather(Device& device, std::uint64_t own) const {
  detail::count_number(device);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(shards_), own);
  if (group_ != nullptr) {
    group_->all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  }
  return all;
}

RowShare::RowShare(const MeshShards& mesh, std::int64_t shards)
    : shards_(shards), rank_(static_cast<std::size_t>(mesh.first())) {
  if (mesh.all() != nullptr) {
    group_ = std::shared_ptr<ProcessGroup>(std::shared_ptr<void>(), mesh.all());
  }
}

const RowShare* RowShare::of(std::initializer_list<const Parameter*> weights) {
  const RowShare* share = nullptr;
  for (const Parameter* const weight : weights) {
    if (weight->rows_ == nullptr || weight->rows_->parts.is_read_alike()) return nullptr;
    share = &weight->rows_->share;
  }
  return share;
}

const Tensor& RowShare::rows(const Parameter& weights, std::size_t shard) const {
  return weights.rows_->leaves.at(shard);
}

std::vector<Tensor> RowShare::dispatch(const Tensor& x) const {
  detail::expect_defined(kDispatch, "x", x);
  if (x.rank() < 2 || x.dim(0) % shards_ != 0) {
    detail::wrong(kDispatch, "[n * " + std::to_string(shards_) + " rows, any, ...]",
                  x.shape().to_string());
  }
  const std::int64_t rows = x.dim(0) / shards_, own = x.dim(1);
  std::vector<std::int64_t> counts;
  for (const std::uint64_t count : gather(x.device(), static_cast<std::uint64_t>(own))) {
    counts.push_back(static_cast<std::int64_t>(count));
  }
  const auto moves = std::make_shared<Moves>(group_, rank_, rows, std::move(counts));
  const Tensor all = recorded(kDispatchOp, x, moves->to_parts(x), moves);
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (std::size_t shard = 0; shard < static_cast<std::size_t>(shards_); ++shard) {
    const std::int64_t count = moves->count(shard);
    const Tensor part = ops::slice(all, 0, begin, begin + rows * count);
    begin += rows * count;
    std::vector<std::int64_t> dims{rows, count};
    for (int i = 2; i < x.rank(); ++i) dims.push_back(x.dim(i));
    parts.push_back(ops::reshape(part, Shape(dims)));
  }
  return parts;
}

Tensor RowShare::combine(std::span<const Tensor> parts) const {
  if (std::ssize(parts) != shards_) {
    detail::wrong(kCombine, std::to_string(shards_) + " parts", std::to_string(parts.size()));
  }
  std::vector<Tensor> flat;
  std::vector<std::int64_t> counts;
  for (const Tensor& part : parts) {
    detail::expect_defined(kCombine, "part", part);
    if (part.rank() < 2 || part.dim(0) != parts.front().dim(0)) {
      detail::wrong(kCombine, "parts of equally many rows", part.shape().to_string());
    }
    counts.push_back(part.dim(1));
    std::vector<std::int64_t> dims{part.dim(0) * part.dim(1)};
    for (int i = 2; i < part.rank(); ++i) dims.push_back(part.dim(i));
    flat.push_back(ops::reshape(part, Shape(dims)));
  }
  const auto moves =
      std::make_shared<Moves>(group_, rank_, parts.front().dim(0), std::move(counts));
  const Tensor all = flat.size() == 1 ? flat.front() : ops::concat(flat, 0);
  return recorded(kCombineOp, all, moves->to_shard(all), moves);
}

}  // namespace trivet
