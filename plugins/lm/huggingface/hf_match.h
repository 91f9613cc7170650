// SPDX-License-Identifier: Apache-2.0
// Whether a model is one of a published layout. The layers of the model are compared, field by
// field, with those of the layout's model of the same shape, so that configs may say it in any way,
// and nothing that changes the function passes unseen. What only training has (dropout, starting
// values, smoothed labels, what is kept for gradients) may be anything.
#pragma once

#include <string>

#include "lm/huggingface/hf_layout.h"
#include "lm/models/language_model.h"

namespace trivet::lm {

// "llama" for a model that ends with an RMS norm, else "gpt2".
std::string_view likely_layout(const LanguageModelConfig& model);

// The shape of a model as the layout has it. Throws UsageError naming the layer and the field that
// the layout does not have. The device is only named, nothing is computed.
DecoderShape matching_shape(const LanguageModelConfig& model, const HfLayout& layout,
                            Device& device);

}  // namespace trivet::lm
