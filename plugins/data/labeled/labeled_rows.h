// SPDX-License-Identifier: Apache-2.0
// Rows of labeled texts: what inputs of them have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/labeled/labeled_config.h"
#include "data/sequences/sequence_dataset.h"
#include "data/tokens/token_store.h"

namespace trivet::data {

// The tokens around texts; nothing: there is none.
struct TextSpecialTokens {
  std::optional<std::int32_t> cls, sep;
};

// Those of the config, else the tokenizer's. Throws InputError, with `input` as its location, for
// one that is no token, and for rows without room for a token beside `special_per_row`.
TextSpecialTokens text_special_tokens(const LabeledConfig& config, const Tokenizer& tokenizer,
                                      const std::string& input);
void check_room(const LabeledConfig& config, std::int64_t special, const std::string& input);

// The location of a text among names. Throws InputError with `location` and the nearest ones.
std::int32_t class_named(std::string_view text, const std::vector<std::string>& names,
                         const std::string& location);

// Rows whose tokens, special tokens included, are the documents of `tokens`, one each.
class LabeledRows : public SequenceDataset {
 public:
  std::int64_t rows() const final { return tokens_->documents(); }
  // The fields that labeled_config.h has for all; derived classes add theirs.
  Batch batch(std::span<const Row> rows) override;

 protected:
  LabeledRows(std::shared_ptr<const TokenStore> tokens, std::int64_t seq_len)
      : tokens_(std::move(tokens)), seq_len_(seq_len) {}
  const TokenStore& tokens() const { return *tokens_; }
  std::int64_t seq_len() const { return seq_len_; }

 private:
  std::shared_ptr<const TokenStore> tokens_;
  std::int64_t seq_len_;
};

}  // namespace trivet::data
