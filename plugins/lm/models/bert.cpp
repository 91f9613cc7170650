// SPDX-License-Identifier: Apache-2.0
#include "lm/models/bert.h"

namespace trivet::lm {
namespace {

constexpr const char* kBert = "lm/Bert";

}  // namespace

Bert::Bert(const Config& config, Scope& scope)
    : softmax_(masked_softmax(config, scope, kBert)),
      embedding_(nullptr, softmax_head(*softmax_, "softmax"), kBert),
      encoder_(config, scope, kBert),
      head_(config, config.model_dims, softmax_head(*softmax_, "softmax"), scope),
      next_sentence_(config, config.next_sentence, scope) {}

NestedMap Bert::fprop(const Batch& batch, FpropContext& context) {
  const Tensor h = encoder_.fprop(embedding_, batch, context);
  NestedMap outputs = head_.fprop(h, batch, context);
  next_sentence_.fprop(h, batch, context, outputs);
  return outputs;
}

}  // namespace trivet::lm
