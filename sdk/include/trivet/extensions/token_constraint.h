// SPDX-License-Identifier: Apache-2.0
// TokenConstraint: which tokens may come next while a text is generated, as a plugin wants it: only
// words of a list, JSON of a schema, nothing that a filter refuses. A kind of items of its own;
// task.decode.sample_constraint of tasks that sample texts names one.
//
// Example (sdk/examples/snippets/token_constraint.cpp#constraint):
//
//   // Texts without the letter of the config.
//   class WithoutLetter final : public TokenConstraint {
//    public:
//     using Config = WithoutLetterConfig;
//     WithoutLetter(const Config& config, TokenConstraintContext& context) {
//       for (std::int32_t id = 0; id < context.tokenizer.vocabulary_size(); ++id) {
//         const bool has = context.tokenizer.token_text(id).find(config.letter) != std::string::npos;
//         if (has) excluded_.push_back(id);
//       }
//     }
//     void adjust(std::span<const std::int32_t>, std::span<const std::int32_t>,
//                 std::span<float> logits) const override {
//       exclude(logits, excluded_);
//     }
//
//    private:
//     std::vector<std::int32_t> excluded_;
//   };
//
// The plugin lists it as token_constraint<WithoutLetter>("WithoutLetter", "doc").
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/object.h"
#include "trivet/plugin/detail/plugin_note.h"
#include "trivet/plugin/registry.h"
#include "trivet/tokenizer.h"

namespace trivet {

struct TokenConstraintConfig {};
TRIVET_CONFIG(TokenConstraintConfig, trivet::NoBase)

// Lives as long as the constraint.
struct TokenConstraintContext {
  const Tokenizer& tokenizer;
  std::span<const std::int32_t> end_tokens;  // that end a text; none: texts end by their length
};

class TRIVET_API TokenConstraint : public Object {
 public:
  static constexpr std::string_view kKind = "token_constraint";
  using Config = TokenConstraintConfig;
  using Context = TokenConstraintContext;

  ~TokenConstraint() override;

  // Changes the logits of the next token of one text, which has the tokens `generated` after
  // `prompt`. -infinity excludes a token; at least one must stay. The logits have guidance and the
  // repetition penalty, but no temperature, and one for each id that the tokenizer and the model
  // have. Must be a function of the arguments alone: texts are generated in any order. [run-thread]
  virtual void adjust(std::span<const std::int32_t> prompt, std::span<const std::int32_t> generated,
                      std::span<float> logits) const = 0;
};

// Excludes the tokens that have a logit.
inline void exclude(std::span<float> logits, std::span<const std::int32_t> ids) {
  for (const std::int32_t id : ids) {
    if (id >= 0 && static_cast<std::size_t>(id) < logits.size()) {
      logits[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
    }
  }
}

// Lists an item of this kind in a plugin, as those of trivet/plugin.h.
template <class T, class... Attribute>
constexpr auto token_constraint(std::string_view name, std::string_view doc,
                                Attribute... attribute) {
  return detail::with_text(detail::ClassItem<TokenConstraint, T>{}, name, doc, attribute...);
}

}  // namespace trivet
