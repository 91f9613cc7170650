// SPDX-License-Identifier: Apache-2.0
#include "train/weight_summaries.h"

namespace trivet {

void add_weight_histograms(const ParameterStore& store, Summaries& summaries) {
  for (const auto& parameter : store.parameters()) {
    if (!parameter->trainable()) continue;
    summaries.histogram("weights/" + parameter->path(), parameter->value());
    if (!parameter->has_gradient()) continue;
    summaries.histogram("gradients/" + parameter->path(), parameter->gradient());
  }
}

}  // namespace trivet
