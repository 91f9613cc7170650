// SPDX-License-Identifier: Apache-2.0
// Decoder: what models that continue sequences make of embedded tokens, x [B, T, D] -> the same
// shape: positions, blocks, final norm; of whole sequences, or a few positions at a time with a
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
  // Children "position_emb", "transformer" and "final_norm" of `scope`.
  Decoder(const TransformerConfig& config, const ConfigOf<Layer>& position_emb_tpl,
          BlockSight sight, Scope& scope);

  std::int64_t longest_sequence() const { return longest_; }  // 0: any

  // With a null cache x holds whole sequences.
  Tensor fprop(const Tensor& x, LayerCache* cache, FpropContext& context) const;
  // Null when a layer cannot go on from where it was.
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch, std::int64_t max_length) const;

 private:
  std::int64_t longest_;
  std::array<std::shared_ptr<Layer>, 3> layers_;  // null where the config has none
};

// [B, D] of h [B, T, D].
Tensor last_position(const Tensor& h);

}  // namespace trivet::lm
