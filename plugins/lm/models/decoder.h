// SPDX-License-Identifier: Apache-2.0
// Decoder: the positions, blocks and final norm of models that continue sequences. Maps embedded
// tokens x [B, T, D] to the same shape; takes whole sequences, or a few positions at a time with a
// cache (trivet/layer/extend_step.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "lm/models/transformer_parts.h"
#include "trivet/layer/extend_step.h"

namespace trivet::lm {

class Decoder {
 public:
  // Makes the children "position_emb", "transformer" and "final_norm" of `scope`. The sharding may
  // be null.
  Decoder(const TransformerConfig& config, const ConfigOf<Layer>& position_emb_tpl,
          BlockSight sight, Scope& scope, const ShardingConfig* sharding = nullptr);

  std::int64_t longest_sequence() const { return longest_; }  // 0: no limit

  // With a null cache x holds whole sequences.
  Tensor fprop(const Tensor& x, LayerCache* cache, FpropContext& context) const;
  // Returns null if a layer cannot decode step by step.
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch, std::int64_t max_length) const;

 private:
  std::int64_t longest_;
  std::array<std::shared_ptr<Layer>, 3> layers_;  // null if the config has none
};

// Returns [B, D] of h [B, T, D].
Tensor last_position(const Tensor& h);

}  // namespace trivet::lm
