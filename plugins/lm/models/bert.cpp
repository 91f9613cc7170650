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
      head_(config, config.model_dims, softmax_head(*softmax_, "softmax"), scope) {}

NestedMap Bert::fprop(const Batch& batch, FpropContext& context) {
  return head_.fprop(encoder_.fprop(embedding_, batch, context), batch, context);
}

}  // namespace trivet::lm
