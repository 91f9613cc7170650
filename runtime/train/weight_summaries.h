// SPDX-License-Identifier: Apache-2.0
// Distributions of weights and gradients, for trainer.summary_histograms.
#pragma once

#include "trivet/layer/parameter_store.h"
#include "trivet/layer/summaries.h"

namespace trivet {

// Of every trainable parameter "weights/PATH" and "gradients/PATH", the gradients as the optimizer
// got them, where they had one. Call it after an update and before the next one's gradients.
// [run-thread]
void add_weight_histograms(const ParameterStore& store, Summaries& summaries);

}  // namespace trivet
