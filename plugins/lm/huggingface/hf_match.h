// SPDX-License-Identifier: Apache-2.0
// Checks whether a model matches a Hugging Face layout. Compares the model's layers, field by
// field, with the layers of the layout's model of the same shape. Configs may therefore be written
// in any way, and no change of the function is missed. Training-only fields (dropout, initializers,
// label smoothing, rematerialization) may have any value.
#pragma once

#include <string>

#include "lm/huggingface/hf_layout.h"
#include "lm/models/language_model.h"

namespace trivet::lm {

// Returns "llama" for a model that ends with an RMS norm, else "gpt2".
std::string_view likely_layout(const LanguageModelConfig& model);

// Returns the shape of a model in the layout's terms. Throws UsageError with the layer and field
// that the layout lacks. Computes nothing on the device.
DecoderShape matching_shape(const LanguageModelConfig& model, const HfLayout& layout,
                            Device& device);

}  // namespace trivet::lm
