// SPDX-License-Identifier: Apache-2.0
// What the header of token constraints shows.
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/extensions/token_constraint.h>

namespace token_constraint_example {

using namespace trivet;

struct WithoutLetterConfig : TokenConstraintConfig {
  std::string letter;
};
TRIVET_CONFIG(WithoutLetterConfig, trivet::TokenConstraintConfig, (letter, "The letter.", required))

// [constraint]
// Texts without the letter of the config.
class WithoutLetter final : public TokenConstraint {
 public:
  using Config = WithoutLetterConfig;
  WithoutLetter(const Config& config, TokenConstraintContext& context) {
    for (std::int32_t id = 0; id < context.tokenizer.vocabulary_size(); ++id) {
      const bool has = context.tokenizer.token_text(id).find(config.letter) != std::string::npos;
      if (has) excluded_.push_back(id);
    }
  }
  void adjust(std::span<const std::int32_t>, std::span<const std::int32_t>,
              std::span<float> logits) const override {
    exclude(logits, excluded_);
  }

 private:
  std::vector<std::int32_t> excluded_;
};
// [/constraint]

namespace {

// Tokens "a", "b", "c", ...
class Letters final : public Tokenizer {
 public:
  std::int32_t vocabulary_size() const override { return 3; }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    for (const char letter : text) ids.push_back(letter - 'a');
    return ids;
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) text += static_cast<char>('a' + id);
    return text;
  }
  std::string fingerprint() const override { return "letters"; }
};

}  // namespace

TEST_CASE("a constraint excludes tokens by their texts") {
  const Letters tokenizer;
  TokenConstraintContext context{.tokenizer = tokenizer, .end_tokens = {}};
  WithoutLetterConfig config;
  config.letter = "b";
  const WithoutLetter constraint(config, context);
  std::vector<float> logits = {1, 2, 3};
  constraint.adjust({}, {}, logits);
  CHECK(logits[0] == 1);
  CHECK(std::isinf(logits[1]));
  CHECK(logits[2] == 3);
}

}  // namespace token_constraint_example
