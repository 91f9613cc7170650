// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/lora.h"

#include <algorithm>

namespace trivet::nn {
namespace {

constexpr std::array<std::string_view, 7> kProducts = {"query", "key",  "value", "output",
                                                       "in",    "gate", "out"};

}  // namespace

void LoraConfig::validate(Diagnostics& diagnostics) const {
  for (const std::string& name : layers) {
    if (std::find(kProducts.begin(), kProducts.end(), name) != kProducts.end()) continue;
    diagnostics.add("layers", "has \"" + name + "\", which is not a product of this layer",
                    "query, key, value, output, in, gate, out");
  }
  if (rank > 0 || (alpha == 0 && dropout == 0 && layers.empty())) return;
  diagnostics.add("rank", "is 0, so the other LoRA fields have no effect", "set it, e.g. rank = 8");
}

LoraConfig lora_of(const LoraConfig& config, std::string_view name) {
  const auto& names = config.layers;
  if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) return {};
  LoraConfig own = config;
  own.layers.clear();
  return own;
}

}  // namespace trivet::nn
