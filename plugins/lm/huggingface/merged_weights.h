// SPDX-License-Identifier: Apache-2.0
// The variables that a model would have without LoRA (nn/Linear's `lora`) and the same outputs:
//
//   w + alpha / rank * lora_a lora_b  instead of w, lora_a and lora_b
#pragma once

#include "lm/models/language_model.h"
#include "trivet/train/checkpoint.h"

namespace trivet::lm {

// `variables` are those of the model. The device is where products are computed.
NamedTensors merged(const NamedTensors& variables, const LanguageModelConfig& model,
                    Device& device);

}  // namespace trivet::lm
