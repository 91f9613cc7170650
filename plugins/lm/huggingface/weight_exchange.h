// SPDX-License-Identifier: Apache-2.0
// Weights of a published layout as variables of lm/LanguageModel, and back. Every number keeps its
// bits; 16-bit ones are widened.
#pragma once

#include <deque>
#include <vector>

#include "lm/huggingface/hf_layout.h"
#include "lm/huggingface/hf_weights.h"
#include "trivet/data/safetensors.h"
#include "trivet/train/checkpoint.h"

namespace trivet::lm {

struct Weights {
  std::vector<SafetensorsEntry> entries;  // f32; their data are below, or those of the source
  std::deque<std::vector<float>> values;
  std::deque<std::vector<std::byte>> bytes;
};

// The model's variables; `source` must outlive them. Throws one UsageError with every tensor that
// is missing, has another shape or type, or has no place in the layout.
Weights imported(const HfWeights& source, const HfLayout& layout, const DecoderShape& shape);

// The layout's tensors with its prefix, by name. Throws Error where the variables are not those
// that the layout is made of.
Weights published(const NamedTensors& variables, const HfLayout& layout, const DecoderShape& shape);

}  // namespace trivet::lm
