// SPDX-License-Identifier: Apache-2.0
// Merges LoRA (nn/Linear's `lora`) into the weights, for the same outputs without it:
//
//   w + alpha / rank * lora_a lora_b  instead of w, lora_a and lora_b
#pragma once

#include "lm/models/language_model.h"
#include "trivet/train/checkpoint.h"

namespace trivet::lm {

// `variables` are the model's. The products are computed on `device`.
NamedTensors merged(const NamedTensors& variables, const LanguageModelConfig& model,
                    Device& device);

}  // namespace trivet::lm
