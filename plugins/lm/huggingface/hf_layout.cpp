// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/hf_layout.h"

#include "lm/huggingface/gpt2_layout.h"
#include "lm/huggingface/llama_layout.h"
#include "trivet/error.h"

namespace trivet::lm {

const HfLayout& layout_named(std::string_view name) {
  static const Gpt2Layout gpt2;
  static const LlamaLayout llama;
  for (const HfLayout* layout :
       {static_cast<const HfLayout*>(&gpt2), static_cast<const HfLayout*>(&llama)}) {
    if (layout->name() == name) return *layout;
  }
  throw UsageError("models of type '" + std::string(name) + "' are not supported",
                   {.hint = "supported: gpt2, llama"});
}

}  // namespace trivet::lm
