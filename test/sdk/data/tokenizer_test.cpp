// SPDX-License-Identifier: Apache-2.0
#include "trivet/tokenizer.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/error.h"

using namespace trivet;

namespace {

// Knows four words of one letter, "a" twice; the last one ends a text.
class Letters final : public Tokenizer {
 public:
  std::int32_t vocabulary_size() const override { return 4; }
  std::vector<std::int32_t> encode(std::string_view) const override { return {}; }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      check_id(id);
      text += "aaba"[id];
    }
    return text;
  }
  std::optional<std::int32_t> eos_id() const override { return 3; }
  std::string fingerprint() const override { return "letters"; }
};

}  // namespace

TEST_CASE("a tokenizer with only the required functions has sensible defaults") {
  const Letters letters;
  CHECK(letters.token_text(2) == "b");
  CHECK(letters.token_id("b") == 2);
  CHECK(letters.token_id("a") == 3);
  CHECK_FALSE(letters.token_id("c"));
  CHECK(letters.is_special(3));
  CHECK_FALSE(letters.is_special(0));
  CHECK_FALSE(letters.bos_id());
  CHECK_FALSE(letters.pad_id());
  CHECK_FALSE(letters.unknown_id());
  CHECK_FALSE(letters.tokenizer_json());
  for (const std::int32_t id : {-1, 4}) {
    CHECK_THROWS_AS(letters.decode(std::vector{id}), InputError);
    CHECK_THROWS_AS(letters.token_text(id), InputError);
    CHECK_THROWS_AS(letters.is_special(id), InputError);
  }
}
