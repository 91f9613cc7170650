// SPDX-License-Identifier: Apache-2.0
#include "lm/models/decoder.h"

#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::lm {

Decoder::Decoder(const TransformerConfig& config, const ConfigOf<Layer>& position_emb_tpl,
                 BlockSight sight, Scope& scope, const ShardingConfig* sharding)
    : longest_(longest_of(config, positions_of(position_emb_tpl, config))),
      layers_{scope.layer("position_emb", positions_of(position_emb_tpl, config)),
              scope.layer("transformer", stack_of(config, config.num_layers, sight, sharding)),
              scope.layer("final_norm", norm_of(config.final_norm_tpl, config))} {}

Tensor Decoder::fprop(const Tensor& x, LayerCache* cache, FpropContext& context) const {
  auto* caches = static_cast<LayerCaches*>(cache);
  Tensor h = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (!layers_[i]) continue;
    h = caches != nullptr ? extend_step(*layers_[i], h, caches->at(i), context)
                          : layers_[i]->fprop(h, context);
  }
  return h;
}

std::unique_ptr<LayerCache> Decoder::make_cache(std::int64_t batch, std::int64_t max_length) const {
  auto caches = std::make_unique<LayerCaches>();
  try {
    for (const auto& layer : layers_) caches->add(layer.get(), "a layer", batch, max_length);
  } catch (const Error&) {
    return nullptr;
  }
  return caches;
}

Tensor last_position(const Tensor& h) {
  const std::int64_t length = h.dim(1);
  const Tensor last = ops::contiguous(ops::slice(h, 1, length - 1, length));
  return ops::reshape(last, {h.dim(0), h.dim(2)});
}

}  // namespace trivet::lm
