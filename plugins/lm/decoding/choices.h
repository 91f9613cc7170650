// SPDX-License-Identifier: Apache-2.0
// lm/Choices: a generated text is one of given texts, such as the names of classes.
//
// The texts are compared as tokens, as the tokenizer encodes each by itself. While a text is
// generated, a token may follow if one of the texts continues so; an end token may follow when the
// text is complete. Among these the model chooses, as it chooses among all tokens otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "trivet/extensions/token_constraint.h"

namespace trivet::lm {

struct ChoicesConfig : TokenConstraintConfig {
  std::vector<std::string> texts;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(ChoicesConfig, trivet::TokenConstraintConfig,
              (texts,
               "The texts, each with the blanks that it starts with after a prompt: [\" yes\", \" "
               "no\"].",
               required))

class Choices final : public TokenConstraint {
 public:
  using Config = ChoicesConfig;
  // Throws UsageError without an end token, and for a text without tokens.
  Choices(const Config& config, TokenConstraintContext& context);

  void adjust(std::span<const std::int32_t> prompt, std::span<const std::int32_t> generated,
              std::span<float> logits) const override;

 private:
  // The tokens that may follow the start of a text.
  std::map<std::vector<std::int32_t>, std::set<std::int32_t>> next_;
};

}  // namespace trivet::lm
