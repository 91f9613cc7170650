// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/mesh_shards.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tensor/packing.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"
#include "trivet/tensor/device.h"

namespace trivet {
namespace {

// Below, one exchange of everything takes less time than two of parts.
constexpr std::int64_t kWholeFloats = 16'384;

void add_floats(std::span<float> sum, std::span<const float> value) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += value[i];
}

// The sum of equally long rows, which are spent.
std::span<float> add_rows(std::span<float> rows, const SumTree& tree) {
  const std::size_t length = rows.size() / static_cast<std::size_t>(tree.size());
  TreeFold<std::span<float>> fold(tree);
  for (std::size_t begin = 0; true; begin += length) {
    const auto total = fold.add(rows.subspan(begin, length),
                                [](auto& sum, const auto& value) { add_floats(sum, value); });
    if (total) return *total;
  }
}

// The first `count` elements, of memory that only grows.
std::span<float> first_of(std::vector<float>& buffer, std::size_t count) {
  if (buffer.size() < count) buffer.resize(count);
  return std::span(buffer).first(count);
}

void sum_whole(std::span<float> values, const SumTree& tree, ProcessGroup& group,
               std::vector<float>& buffer) {
  const std::span<float> rows =
      first_of(buffer, values.size() * static_cast<std::size_t>(group.size()));
  group.all_gather(std::as_bytes(values), std::as_writable_bytes(rows));
  std::ranges::copy(add_rows(rows, tree), values.begin());
}

// The elements of a shard's piece, where it is not one of the last ones.
std::int64_t piece_length(std::int64_t elements, std::int64_t shards) {
  constexpr std::int64_t kMultiple = 16;  // as variables in a block: no vector of a kernel is cut
  const std::int64_t length = (elements + shards - 1) / shards;
  return (length + kMultiple - 1) / kMultiple * kMultiple;
}

// Host memory of a block, and the way back.
class HostBlock {
 public:
  explicit HostBlock(Tensor& block) : block_(block) {
    if (block.device().host_visible()) {
      values_ = block.mutable_span<float>();
    } else {
      copy_ = block.to_host<float>();
      values_ = copy_;
    }
  }
  std::span<float> values() const { return values_; }
  void assign() {
    if (!block_.device().host_visible()) block_.assign_bytes(std::as_bytes(values_));
  }

 private:
  Tensor& block_;
  std::vector<float> copy_;
  std::span<float> values_;
};

}  // namespace

MeshShards::MeshShards(const MeshConfig& mesh, ProcessGroup* group)
    : MeshShards(MeshLayout(mesh).shard_tree()) {
  if (group == nullptr || group->size() == 1) return;
  const std::int64_t processes = group->size();
  const auto parts = total() % processes == 0 ? tree_.split(total() / processes) : std::nullopt;
  if (!parts) {
    throw Error(std::to_string(processes) + " processes cannot share the " +
                std::to_string(total()) + " shards of the mesh");
  }
  std::tie(own_tree_, processes_) = *parts;
  first_ = group->rank() * count();
  group_ = group;
  buffers_ = std::make_shared<Buffers>();
}

MeshShards::Range MeshShards::piece(std::int64_t elements, std::int64_t shard) const {
  const std::int64_t length = piece_length(elements, total());
  return {std::min(shard * length, elements), std::min((shard + 1) * length, elements)};
}

MeshShards::Range MeshShards::part_of(std::int64_t elements, std::int64_t rank) const {
  return {piece(elements, rank * count()).begin, piece(elements, (rank + 1) * count() - 1).end};
}

MeshShards::Range MeshShards::own_part(std::int64_t elements) const {
  return part_of(elements, first_ / count());
}

bool MeshShards::is_cut(std::int64_t elements) {
  return elements > kWholeFloats;
}

void MeshShards::sum(Tensor& own) const {
  if (group_ == nullptr) return;
  if (is_cut(own.size())) {
    sum_part(own, own);
    return gather_parts(own);
  }
  HostBlock block(own);
  sum_whole(block.values(), processes_, *group_, buffers_->rows);
  block.assign();
}

// Each process adds the parts of all that it owns.
void MeshShards::sum_part(const Tensor& own, Tensor& out) const {
  const Range mine = own_part(own.size());
  if (group_ == nullptr) {
    if (&out != &own) detail::copy_into(out.mutable_view(), own);
    return;
  }
  const bool is_direct = own.device().host_visible();
  const std::vector<float> copy = is_direct ? std::vector<float>() : own.to_host<float>();
  const std::span<const float> values = is_direct ? own.span<float>() : std::span(copy);
  const auto processes = static_cast<std::size_t>(group_->size());
  const auto length = static_cast<std::size_t>(mine.size());
  std::vector<std::uint64_t> to;
  for (int rank = 0; rank < group_->size(); ++rank) {
    to.push_back(static_cast<std::uint64_t>(part_of(own.size(), rank).size()) * sizeof(float));
  }
  const std::vector<std::uint64_t> from(processes, length * sizeof(float));
  const std::span<float> rows = first_of(buffers_->rows, length * processes);
  group_->all_to_all(std::as_bytes(values), to, std::as_writable_bytes(rows), from);
  if (length == 0) return;
  HostBlock block(out);
  std::ranges::copy(add_rows(rows, processes_),
                    block.values().begin() + static_cast<std::ptrdiff_t>(mine.begin));
  block.assign();
}

void MeshShards::gather_parts(Tensor& block) const {
  if (group_ == nullptr) return;
  const Range mine = own_part(block.size());
  const auto processes = static_cast<std::size_t>(group_->size());
  // Equal lengths: the last parts may have a rest that nobody reads.
  const auto length = static_cast<std::size_t>(piece_length(block.size(), total()) * count());
  const std::span<float> part = first_of(buffers_->rows, length);
  HostBlock all(block);
  std::ranges::copy(all.values().subspan(static_cast<std::size_t>(mine.begin),
                                         static_cast<std::size_t>(mine.size())),
                    part.begin());
  if (length * processes == all.values().size()) {
    group_->all_gather(std::as_bytes(part), std::as_writable_bytes(all.values()));
  } else {
    const std::span<float> gathered = first_of(buffers_->all, length * processes);
    group_->all_gather(std::as_bytes(part), std::as_writable_bytes(gathered));
    std::copy_n(gathered.begin(), all.values().size(), all.values().begin());
  }
  all.assign();
}

std::uint64_t MeshShards::exchange_bytes(std::int64_t elements, std::int64_t shards,
                                         std::int64_t processes) {
  if (processes == 1) return 0;
  if (!is_cut(elements)) return static_cast<std::uint64_t>(elements * processes) * sizeof(float);
  const std::int64_t rows = piece_length(elements, shards) * shards;
  const std::int64_t buffers = rows == elements ? 1 : 2;
  return static_cast<std::uint64_t>(rows * buffers) * sizeof(float);
}

std::vector<double> MeshShards::gather(std::span<const double> own) const {
  if (std::ssize(own) != count()) {
    throw Error("this process has " + std::to_string(count()) + " shards, and gives " +
                std::to_string(own.size()) + " numbers");
  }
  if (group_ == nullptr) return {own.begin(), own.end()};
  std::vector<double> all(static_cast<std::size_t>(total()));
  group_->all_gather(std::as_bytes(own), std::as_writable_bytes(std::span(all)));
  return all;
}

void MeshShards::any(std::span<std::uint8_t> flags) const {
  if (group_ == nullptr) return;
  std::vector<std::uint8_t> all(flags.size() * static_cast<std::size_t>(group_->size()));
  group_->all_gather(std::as_bytes(flags), std::as_writable_bytes(std::span(all)));
  std::ranges::fill(flags, std::uint8_t{0});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != 0) flags[i % flags.size()] = 1;
  }
}

}  // namespace trivet
