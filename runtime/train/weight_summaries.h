// SPDX-License-Identifier: Apache-2.0
// Histograms of weights and gradients, for trainer.summary_histograms.
#pragma once

#include "trivet/layer/parameter_store.h"
#include "trivet/layer/summaries.h"

namespace trivet {

// Adds "weights/PATH" and "gradients/PATH" of every trainable parameter. The gradients are those
// passed to the optimizer, if any. Call this after an update and before the next gradients.
// [run-thread]
void add_weight_histograms(const ParameterStore& store, Summaries& summaries);

}  // namespace trivet
