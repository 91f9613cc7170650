// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/token_losses.h"

namespace trivet::lm {

NestedMap token_losses(SoftmaxHead& head, const Tensor& h, const Batch& batch,
                       FpropContext& context, const char* labels) {
  if (!batch.contains(labels)) return {{"logits", head.logits(h, context)}};
  const SoftmaxLoss loss =
      head.loss(h, batch.at(labels), batch.at("weights"), context, {.argmax = !context.train});
  NestedMap outputs = {{"avg_xent", loss.avg_xent},
                       {"total_weight", loss.total_weight},
                       {"per_example_xent", loss.per_example_xent}};
  if (!context.train) outputs.set("per_example_argmax", loss.per_example_argmax);
  return outputs;
}

}  // namespace trivet::lm
