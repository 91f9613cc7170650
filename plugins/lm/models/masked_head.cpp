// SPDX-License-Identifier: Apache-2.0
#include "lm/models/masked_head.h"

#include <string>
#include <utility>

#include "lm/metrics/token_losses.h"
#include "trivet/error.h"
#include "trivet/layer/layer_template.h"

namespace trivet::lm {
std::shared_ptr<Layer> masked_softmax(const MaskedHeadConfig& config, Scope& scope,
                                      const char* model) {
  check_vocabulary(config);
  ConfigOf<Layer> layer = table_of(config.softmax_tpl, config.vocab_size, embedding_sizes(config));
  if (!layer) throw Error(std::string(model) + ": a softmax is required");
  complete(layer, "has_bias", true, false);
  return scope.layer("embedding", layer);
}

MaskedHead::MaskedHead(const MaskedHeadConfig& config, std::int64_t input_dims,
                       SoftmaxHead& softmax, Scope& scope)
    : softmax_(softmax),
      mlm_dense_(scope.layer(
          "mlm_dense",
          linear_of(input_dims, embedding_sizes(config).model_dims,
                    config.mlm_activation ? config.mlm_activation.to_value() : Value("none"),
                    config.init))),
      mlm_norm_(scope.layer("mlm_norm", norm_of(config.mlm_norm_tpl, embedding_sizes(config)))) {}

Tensor MaskedHead::hidden(const Tensor& h, FpropContext& context) const {
  const Tensor t = mlm_dense_->fprop(h, context);
  return mlm_norm_ ? mlm_norm_->fprop(t, context) : t;
}

NestedMap MaskedHead::fprop(const Tensor& h, const Batch& batch, FpropContext& context) const {
  return token_losses(softmax_, hidden(h, context), batch, context);
}

}  // namespace trivet::lm
