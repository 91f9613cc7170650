// SPDX-License-Identifier: Apache-2.0
// How the weights of a layer are split over the devices along mdl (tensor parallel).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "trivet/layer.h"
#include "trivet/layer/split_dims.h"
#include "trivet/tensor/mesh_axis.h"

namespace trivet::nn {

struct AxisSplit {
  MeshAxis axis;                   // one device if no dimension is split
  std::optional<std::size_t> dim;  // of the weights

  bool is_split() const { return dim.has_value(); }
  bool is_over(std::size_t dimension) const { return dim == dimension; }
};

// The split of weights of this shape that `dims`, the config field `field` of the layer of the
// scope, asks for on its mesh. No split over one device. Throws ConfigError where the devices do
// not divide the dimension, unless `dims` leaves it whole then.
AxisSplit split_of(const SplitDims& dims, const Shape& weights, const Scope& scope,
                   std::string_view field);

// Whether `dims` names an axis of the batch for dimension 0 of weights.
bool splits_rows_over_batch(const SplitDims& dims, const Scope& scope);

// The axis over which weights that a layer made in this scope are split; one device if they are
// whole.
const MeshAxis& axis_of(const Parameter& weights, const Scope& scope);

// Throws the ConfigError of split_of about `what`, e.g. "num_heads = 6".
[[noreturn]] void refuse_split(const MeshAxis& axis, std::string_view what, const Scope& scope,
                               std::string_view field);

// Throws a ConfigError at task.model about the field: `what` it does, and `hint`.
[[noreturn]] void refuse_mapping(std::string_view what, std::string_view hint, const Scope& scope,
                                 std::string_view field);

// The key for random numbers of a block that differ from those of other blocks.
RngKey block_key(RngKey key, std::int64_t block);

// While it lives, what layers draw is that of a block.
class BlockKey {
 public:
  BlockKey(FpropContext& context, std::int64_t block) : context_(context), whole_(context.key) {
    context.key = block_key(whole_, block);
  }
  ~BlockKey() { context_.key = whole_; }
  BlockKey(const BlockKey&) = delete;
  BlockKey& operator=(const BlockKey&) = delete;

 private:
  FpropContext& context_;
  RngKey whole_;
};

}  // namespace trivet::nn
