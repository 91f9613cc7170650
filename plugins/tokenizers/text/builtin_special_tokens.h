// SPDX-License-Identifier: Apache-2.0
// The special tokens of tokenizers without a file: <bos>, <eos> and <pad> as the config requests
// them, in this order, after all other tokens. A text that spells one is plain text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizers/text/fingerprint_text.h"
#include "trivet/tokenizer.h"

namespace trivet::tokenizers {

struct BuiltinSpecialTokensConfig : TokenizerConfig {
  bool bos = false;
  bool eos = false;
  bool pad = false;
};
TRIVET_CONFIG(BuiltinSpecialTokensConfig, trivet::TokenizerConfig,
              (bos, "Adds a token <bos> that starts a text."),
              (eos, "Adds a token <eos> that ends a text."),
              (pad, "Adds a token <pad> that pads a text."))

class BuiltinSpecialTokens {
 public:
  // Their ids start at `first`.
  BuiltinSpecialTokens(const BuiltinSpecialTokensConfig& config, std::int32_t first)
      : first_(first) {
    if (config.bos) bos_ = add("<bos>");
    if (config.eos) eos_ = add("<eos>");
    if (config.pad) pad_ = add("<pad>");
  }

  std::optional<std::int32_t> bos() const { return bos_; }
  std::optional<std::int32_t> eos() const { return eos_; }
  std::optional<std::int32_t> pad() const { return pad_; }
  // One more than the last id.
  std::int32_t end() const { return first_ + static_cast<std::int32_t>(names_.size()); }
  // The text of an id from first to end.
  std::string_view text(std::int32_t id) const {
    return names_[static_cast<std::size_t>(id - first_)];
  }
  void write_to(BuiltinSpecialTokensConfig& config) const {
    config.bos = bos_.has_value();
    config.eos = eos_.has_value();
    config.pad = pad_.has_value();
  }
  void add_to(FingerprintText& text) const {
    for (const auto& id : {bos_, eos_, pad_}) text.add(id);
  }

 private:
  std::int32_t add(std::string_view name) {
    names_.push_back(name);
    return end() - 1;
  }

  std::int32_t first_;
  std::vector<std::string_view> names_{};
  std::optional<std::int32_t> bos_{}, eos_{}, pad_{};
};

}  // namespace trivet::tokenizers
