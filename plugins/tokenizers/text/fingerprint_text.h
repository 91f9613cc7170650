// SPDX-License-Identifier: Apache-2.0
// The text whose digest is a tokenizer's fingerprint. Each part is stored with its length, so that
// different lists of parts give different texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/config/digest.h"

namespace trivet::tokenizers {

class FingerprintText {
 public:
  // Distinguishes algorithms. Change the version if the same data gives other ids than before.
  explicit FingerprintText(std::string_view algorithm) { add(algorithm); }

  void add(std::string_view part) {
    add(static_cast<std::int64_t>(part.size()));
    text_ += part;
  }
  void add(std::int64_t number) { text_ += std::to_string(number) + ' '; }
  void add(std::optional<std::int32_t> id) { add(std::int64_t{id.value_or(-1)}); }

  std::string digest() const { return trivet::digest(text_); }

 private:
  std::string text_;
};

}  // namespace trivet::tokenizers
