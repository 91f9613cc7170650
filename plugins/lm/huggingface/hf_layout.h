// SPDX-License-Identifier: Apache-2.0
// The layouts of decoders in Hugging Face's transformers library: config.json, the names and shapes
// of the tensors in model.safetensors, and the lm/LanguageModel that computes the same function.
//
//   gpt2   GPT2LMHeadModel (Radford et al. 2019): learned positions, LayerNorm before each part,
//          biases, one tensor for query, key and value side by side. Its four products
//          attn.c_attn, attn.c_proj, mlp.c_fc and mlp.c_proj are of the class Conv1D, which stores
//          weights as [in, out], the transpose of PyTorch's Linear.
//   llama  LlamaForCausalLM (Touvron et al. 2023): RMS norm, rotary positions in the half-split
//          layout, grouped heads of keys and values, a gated Mlp, weights as [out, in].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lm/huggingface/decoder_shape.h"
#include "lm/huggingface/hf_config.h"
#include "trivet/config/value.h"
#include "trivet/tensor/shape.h"

namespace trivet::lm {

// A tensor of a layout and its variables: one, or several of equal shape concatenated along its
// last axis.
struct HfTensor {
  std::string name;  // without the layout's prefix
  Shape shape;
  std::vector<std::string> variables;
  bool transposed = false;  // the variable is [in, out], the tensor [out, in]
};

struct SpecialTokenIds {
  std::optional<std::int32_t> bos, eos;
};

class HfLayout {
 public:
  virtual ~HfLayout() = default;

  virtual std::string_view name() const = 0;    // "model_type" of config.json
  virtual std::string_view prefix() const = 0;  // of all names except the head's
  // Throws UsageError, naming the field, if lm/LanguageModel cannot express it.
  virtual DecoderShape shape(const HfConfig& config) const = 0;
  // Returns the shape as config.json.
  virtual Value config(const DecoderShape& shape, const SpecialTokenIds& ids) const = 0;
  // Returns the shape as task.model of a trivet config.
  virtual Value model(const DecoderShape& shape) const = 0;
  // Omits the head of a model whose logits use the embedding's table.
  virtual std::vector<HfTensor> tensors(const DecoderShape& shape) const = 0;
  // The table of the embedding.
  virtual std::string_view embedding() const = 0;
  // Whether old files hold a constant under this name.
  virtual bool is_constant(std::string_view tensor) const = 0;
  // Whether prompts start with the start token.
  virtual bool adds_bos() const = 0;
};

inline constexpr std::string_view kHeadTensor = "lm_head.weight";

// Throws UsageError for any other name.
const HfLayout& layout_named(std::string_view name);

}  // namespace trivet::lm
