// SPDX-License-Identifier: Apache-2.0
#include "layer/shared_block.h"

#include <algorithm>
#include <utility>

#include "layer/block_layout.h"
#include "tensor/packing.h"
#include "trivet/backend/process_group.h"

namespace trivet::detail {

SharedBlock::SharedBlock(ParameterStore& store, const MeshShards& shards, Kind kind)
    : store_(store),
      shards_(shards),
      is_shared_(kind == Kind::shared),
      size_(store.trainable_values().size()) {}

MeshShards::Range SharedBlock::own() const {
  return is_shared_ ? shards_.own_part(size_) : MeshShards::Range{0, size_};
}

MeshShards::Range SharedBlock::overlap(const Parameter& variable,
                                       const MeshShards::Range& part) const {
  const std::int64_t begin = store_.offset_of(variable), end = begin + variable.shape().size();
  return {std::clamp(begin, part.begin, part.end), std::clamp(end, part.begin, part.end)};
}

MeshShards::Range SharedBlock::own_part_of(const Parameter& variable) const {
  return overlap(variable, own());
}

Tensor SharedBlock::values() const {
  return part_of(store_.trainable_values(), own().begin, own().end);
}

Tensor SharedBlock::gradients() const {
  return part_of(store_.trainable_gradients(), own().begin, own().end);
}

bool SharedBlock::is_shared(const SharedTensor& tensor) const {
  return is_shared_ && tensor.variable != nullptr && tensor.variable->trainable();
}

SharedBlock::NamedTensors SharedBlock::whole(const std::vector<SharedTensor>& tensors,
                                             bool wants) const {
  std::vector<std::uint8_t> all(1, wants ? 1 : 0);
  if (is_shared_) {
    ProcessGroup& group = *shards_.all();
    all.resize(static_cast<std::size_t>(group.size()));
    const std::uint8_t own = wants ? 1 : 0;
    group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  }
  NamedTensors out;
  for (const SharedTensor& tensor : tensors) {
    Tensor value = is_shared(tensor) ? gathered(tensor, all) : tensor.part;
    if (wants) out.emplace_back(tensor.name, ops::reshape(value, tensor.shape));
  }
  return out;
}

Tensor SharedBlock::gathered(const SharedTensor& tensor,
                             const std::vector<std::uint8_t>& wants) const {
  ProcessGroup& group = *shards_.all();
  const std::vector<std::byte> own = tensor.part.to_bytes();
  const std::size_t bytes = size_of(tensor.part.dtype());
  std::vector<std::byte> mine;
  std::vector<std::uint64_t> to, from;
  const bool wanted = wants[static_cast<std::size_t>(group.rank())] != 0;
  for (int rank = 0; rank < group.size(); ++rank) {
    const bool gets = wants[static_cast<std::size_t>(rank)] != 0;
    if (gets) mine.insert(mine.end(), own.begin(), own.end());
    to.push_back(gets ? own.size() : 0);
    const auto theirs = overlap(*tensor.variable, shards_.part_of(size_, rank)).size();
    from.push_back(wanted ? static_cast<std::size_t>(theirs) * bytes : 0);
  }
  Tensor out = wanted ? Tensor::host(tensor.shape, tensor.part.dtype()) : Tensor();
  const std::span<std::byte> all =
      wanted ? std::span(static_cast<std::byte*>(out.mutable_view().data), out.bytes())
             : std::span<std::byte>();
  group.all_to_all(mine, to, all, from);
  return out;
}

Tensor SharedBlock::own_elements(const SharedTensor& tensor, const Tensor& whole) const {
  const MeshShards::Range own = own_part_of(*tensor.variable);
  const std::int64_t start = store_.offset_of(*tensor.variable);
  // A range without elements may be anywhere.
  if (own.size() == 0) return {};
  return part_of(ops::reshape(whole, {whole.size()}), own.begin - start, own.end - start);
}

SharedBlock::NamedTensors SharedBlock::to_fill(const std::vector<SharedTensor>& tensors) const {
  NamedTensors whole;
  for (const SharedTensor& tensor : tensors) {
    if (!is_shared(tensor)) {
      whole.emplace_back(tensor.name, ops::reshape(tensor.part, tensor.shape));
      continue;
    }
    const Tensor copy = Tensor::zeros(store_.device(), tensor.shape, tensor.part.dtype());
    whole.emplace_back(tensor.name, copy);
    Tensor own = own_elements(tensor, copy);
    if (own.defined()) copy_into(own.mutable_view(), tensor.part);
  }
  return whole;
}

void SharedBlock::take(const std::vector<SharedTensor>& tensors, const NamedTensors& filled) const {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!is_shared(tensors[i])) continue;
    const Tensor own = own_elements(tensors[i], filled[i].second);
    Tensor part = tensors[i].part;
    if (own.defined()) copy_into(part.mutable_view(), own);
  }
}

}  // namespace trivet::detail
