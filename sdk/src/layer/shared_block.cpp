// SPDX-License-Identifier: Apache-2.0
#include "layer/shared_block.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "layer/block_units.h"
#include "layer/gradient_parts.h"
#include "layer/weight_parts.h"
#include "tensor/axis_processes.h"
#include "tensor/packing.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"

namespace trivet::detail {

namespace {

// Of a store that was built for no mesh: equal pieces of the block.
std::shared_ptr<const UnitParts> unit_parts_of(const ParameterStore& store,
                                               const MeshShards& shards) {
  if (store.unit_parts() != nullptr) return store.unit_parts();
  return std::make_shared<UnitParts>(BlockUnits(store.trainable_size()), shards);
}

}  // namespace

SharedBlock::SharedBlock(ParameterStore& store, const MeshShards& shards, Kind kind)
    : store_(store),
      shards_(shards),
      is_shared_(kind == Kind::shared),
      parts_(unit_parts_of(store, shards_), is_shared_ ? OwnParts::Has::own : OwnParts::Has::all) {
  if (store.parts() != nullptr) {
    if (!is_shared_ && shards.all() != nullptr) {
      throw Error("weights in parts have updates that processes share");
    }
    values_ = store.parts()->own();
    const GradientParts* const gradients = store.gradient_parts();
    gradients_ =
        gradients != nullptr ? gradients->own() : Tensor::zeros(store.device(), values_.shape());
    return;
  }
  // One part, or several that follow one another.
  const std::int64_t begin = parts_.part(0).range.begin, end = begin + parts_.size();
  values_ = part_of(store.trainable_values(), begin, end);
  gradients_ = part_of(store.trainable_gradients(), begin, end);
}

MeshShards::Range SharedBlock::range_of(const Parameter& variable) const {
  const std::int64_t begin = store_.offset_of(variable);
  return {begin, begin + variable.shape().size()};
}

OwnParts::Overlap SharedBlock::own_part_of(const Parameter& variable) const {
  return parts_.overlap(range_of(variable));
}

void SharedBlock::sum_gradients(Tensor& own) const {
  Tensor all = store_.trainable_gradients();
  if (!is_shared_ && store_.parts() == nullptr) {
    shards_.sum(own);
    if (!own.same_as(all)) copy_into(all.mutable_view(), own);
    return;
  }
  for (std::size_t unit = 0; unit < units().count(); ++unit) {
    const MeshShards::Range range = units()[unit];
    if (!unit_parts().is_used(unit)) continue;
    const OwnParts::Overlap& part = parts_.part(unit);
    Tensor out = part_of(gradients_, part.position, part.end());
    const Tensor of_unit = part_of(own, range.begin, range.end);
    if (store_.parts() != nullptr) {
      count_exchange(units().is_of_stage(unit) ? AxisExchange::Kind::sum_to_stage_part
                                               : AxisExchange::Kind::sum_to_part,
                     of_unit, unit);
    }
    shards_.sum_to_part(of_unit, unit_parts().in_unit(unit), out);
  }
}

void SharedBlock::share_values() const {
  if (store_.parts() != nullptr) {
    store_.parts()->changed();
  } else if (is_shared_) {
    shards_.gather_parts(store_.trainable_values(), unit_parts().in_unit(0));
  }
}

bool SharedBlock::is_shared(const SharedTensor& tensor) const {
  const Parameter* const variable = tensor.variable;
  return is_shared_ && variable != nullptr && variable->trainable() && variable->shape().size() > 0;
}

// A slot of another shape than its variable is of one that has a single owner.
MeshShards::Range SharedBlock::elements_of(const SharedTensor& tensor, std::int64_t rank) const {
  const MeshShards::Range all = range_of(*tensor.variable);
  const MeshShards::Range theirs = unit_parts().of_rank(units().unit_at(all.begin), rank);
  const MeshShards::Range common{std::clamp(theirs.begin, all.begin, all.end) - all.begin,
                                 std::clamp(theirs.end, all.begin, all.end) - all.begin};
  return common == MeshShards::Range{0, all.size()} ? MeshShards::Range{0, tensor.shape.size()}
                                                    : common;
}

SharedBlock::NamedTensors SharedBlock::whole(const std::vector<SharedTensor>& tensors) const {
  NamedTensors out;
  for (const SharedTensor& tensor : tensors) {
    const Tensor value = is_shared(tensor) ? gathered(tensor) : tensor.part;
    out.emplace_back(tensor.name, ops::reshape(value, tensor.shape));
  }
  return out;
}

Tensor SharedBlock::gathered(const SharedTensor& tensor) const {
  ProcessGroup& group = *shards_.all();
  const std::vector<std::byte> own = tensor.part.to_bytes();
  const std::size_t bytes = size_of(tensor.part.dtype());
  std::vector<std::byte> mine;
  std::vector<std::uint64_t> to, from;
  for (int rank = 0; rank < group.size(); ++rank) {
    mine.insert(mine.end(), own.begin(), own.end());
    to.push_back(own.size());
    from.push_back(static_cast<std::size_t>(elements_of(tensor, rank).size()) * bytes);
  }
  Tensor out = Tensor::host(tensor.shape, tensor.part.dtype());
  group.all_to_all(mine, to, {static_cast<std::byte*>(out.mutable_view().data), out.bytes()}, from);
  return out;
}

std::vector<TensorPart> SharedBlock::parts_of(const std::vector<SharedTensor>& tensors) const {
  std::vector<TensorPart> parts;
  for (const SharedTensor& tensor : tensors) {
    const bool shared = is_shared(tensor);
    parts.push_back({.name = tensor.name,
                     .shape = tensor.shape,
                     .values = tensor.part,
                     .begin = shared ? elements_of(tensor, shards_.own_rank()).begin : 0,
                     .is_shared = shared});
  }
  return parts;
}

}  // namespace trivet::detail
