// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/choices.h"

#include <algorithm>
#include <limits>

#include "trivet/error.h"

namespace trivet::lm {

void ChoicesConfig::validate(Diagnostics& diagnostics) const {
  if (texts.empty()) diagnostics.add("texts", "is empty, so there is nothing to choose");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string path = "texts[" + std::to_string(i) + "]";
    if (texts[i].empty()) diagnostics.add(path, "is empty");
    const auto end = texts.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(texts.begin(), end, texts[i]) != end) {
      diagnostics.add(path, "has '" + texts[i] + "' twice");
    }
  }
}

Choices::Choices(const Config& config, TokenConstraintContext& context) {
  if (context.end_tokens.empty()) {
    throw UsageError("lm/Choices needs a token that ends a text, and the tokenizer has none",
                     {.hint = "set task.decode.eos_ids to those that end a text"});
  }
  for (const std::string& text : config.texts) {
    std::vector<std::int32_t> ids = context.tokenizer.encode(text);
    if (ids.empty()) throw UsageError("lm/Choices: '" + text + "' has no token");
    std::vector<std::int32_t> start;
    for (const std::int32_t id : ids) {
      next_[start].insert(id);
      start.push_back(id);
    }
    next_[start].insert(context.end_tokens.begin(), context.end_tokens.end());
  }
}

void Choices::adjust(std::span<const std::int32_t>, std::span<const std::int32_t> generated,
                     std::span<float> logits) const {
  const auto found = next_.find({generated.begin(), generated.end()});
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const bool may = found != next_.end() && found->second.contains(static_cast<std::int32_t>(id));
    if (!may) logits[id] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace trivet::lm
