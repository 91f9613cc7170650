// SPDX-License-Identifier: Apache-2.0
// Converts weights between a Hugging Face layout and the variables of lm/LanguageModel. Conversion
// is exact; 16-bit numbers are widened.
#pragma once

#include <deque>
#include <vector>

#include "lm/huggingface/hf_layout.h"
#include "lm/huggingface/hf_weights.h"
#include "trivet/data/safetensors.h"
#include "trivet/train/checkpoint.h"

namespace trivet::lm {

struct Weights {
  std::vector<SafetensorsEntry> entries;  // f32; the data are below, or in the source
  std::deque<std::vector<float>> values;
  std::deque<std::vector<std::byte>> bytes;
};

// Returns the model's variables; `source` must outlive them. Throws one UsageError that lists every
// tensor that is missing, has another shape or type, or is not in the layout.
Weights imported(const HfWeights& source, const HfLayout& layout, const DecoderShape& shape);

// Returns the layout's tensors with its prefix, by name. Throws Error if the variables do not match
// the layout.
Weights published(const NamedTensors& variables, const HfLayout& layout, const DecoderShape& shape);

}  // namespace trivet::lm
