// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/mesh_shards.h"

#include <algorithm>
#include <string>
#include <utility>

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
std::span<float> part_of(std::vector<float>& buffer, std::size_t count) {
  if (buffer.size() < count) buffer.resize(count);
  return std::span(buffer).first(count);
}

void sum_whole(std::span<float> values, const SumTree& tree, ProcessGroup& group,
               std::vector<float>& buffer) {
  const std::span<float> rows =
      part_of(buffer, values.size() * static_cast<std::size_t>(group.size()));
  group.all_gather(std::as_bytes(values), std::as_writable_bytes(rows));
  std::ranges::copy(add_rows(rows, tree), values.begin());
}

// Each process adds a part of the values and gives the sum to all others.
void sum_parts(std::span<float> values, const SumTree& tree, ProcessGroup& group,
               std::vector<float>& buffer, std::vector<float>& gathered) {
  const auto count = static_cast<std::size_t>(group.size());
  const auto rank = static_cast<std::size_t>(group.rank());
  const std::size_t length = (values.size() + count - 1) / count;
  const auto length_of = [&](std::size_t part) {
    const std::size_t begin = std::min(part * length, values.size());
    return std::min(length, values.size() - begin);
  };
  std::vector<std::uint64_t> to;
  for (std::size_t part = 0; part < count; ++part) to.push_back(length_of(part) * sizeof(float));
  const std::size_t own = length_of(rank);
  const std::vector<std::uint64_t> from(count, own * sizeof(float));
  // Parts are gathered with equal lengths, so the last may have a rest that nobody reads.
  const std::span<float> rows = part_of(buffer, std::max(own * count, length));
  group.all_to_all(std::as_bytes(values), to, std::as_writable_bytes(rows.first(own * count)),
                   from);
  const float* sum = own > 0 ? add_rows(rows.first(own * count), tree).data() : rows.data();
  const std::span<const float> part(sum, length);
  if (length * count == values.size()) {
    group.all_gather(std::as_bytes(part), std::as_writable_bytes(values));
    return;
  }
  const std::span<float> all = part_of(gathered, length * count);
  group.all_gather(std::as_bytes(part), std::as_writable_bytes(all));
  std::copy_n(all.begin(), values.size(), values.begin());
}

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

void MeshShards::sum(Tensor& own) const {
  if (group_ == nullptr) return;
  const bool is_direct = own.device().host_visible();
  std::vector<float> copy = is_direct ? std::vector<float>() : own.to_host<float>();
  const std::span<float> values = is_direct ? own.mutable_span<float>() : std::span(copy);
  if (std::ssize(values) <= kWholeFloats) {
    sum_whole(values, processes_, *group_, buffers_->rows);
  } else {
    sum_parts(values, processes_, *group_, buffers_->rows, buffers_->all);
  }
  if (!is_direct) own.assign_bytes(std::as_bytes(values));
}

std::uint64_t MeshShards::exchange_bytes(std::int64_t elements, std::int64_t processes) {
  if (processes == 1) return 0;
  if (elements <= kWholeFloats) {
    return static_cast<std::uint64_t>(elements * processes) * sizeof(float);
  }
  const std::int64_t rows = (elements + processes - 1) / processes * processes;
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
