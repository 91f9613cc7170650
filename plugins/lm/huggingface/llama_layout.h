// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lm/huggingface/hf_layout.h"

namespace trivet::lm {

class LlamaLayout final : public HfLayout {
 public:
  std::string_view name() const override { return "llama"; }
  std::string_view prefix() const override { return "model."; }
  DecoderShape shape(const HfConfig& config) const override;
  Value config(const DecoderShape& shape, const SpecialTokenIds& ids) const override;
  Value model(const DecoderShape& shape) const override;
  std::vector<HfTensor> tensors(const DecoderShape& shape) const override;
  std::string_view embedding() const override { return "embed_tokens.weight"; }
  bool is_constant(std::string_view tensor) const override;
  bool adds_bos() const override { return true; }
};

}  // namespace trivet::lm
