// SPDX-License-Identifier: Apache-2.0
// LabeledRows: the base of inputs of labeled texts.
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

// The special tokens around texts. Empty: no token.
struct TextSpecialTokens {
  std::optional<std::int32_t> cls, sep;
};

// Returns the config's special tokens, or the tokenizer's where the config has none. Throws
// InputError, located at `input`, for an id that is not a token and for rows without room for a
// token beside `special_per_row`.
TextSpecialTokens text_special_tokens(const EncoderRowsConfig& config, const Tokenizer& tokenizer,
                                      const std::string& input);
void check_room(const EncoderRowsConfig& config, std::int64_t special, const std::string& input);

// Returns the index of a text in names. Throws InputError with `location` and the nearest names.
std::int32_t class_named(std::string_view text, const std::vector<std::string>& names,
                         const std::string& location);

// Rows with one document of `tokens` each. Documents include the special tokens.
class LabeledRows : public SequenceDataset {
 public:
  std::int64_t rows() const final { return tokens_->documents(); }
  // Makes the fields that labeled_config.h lists for all inputs; derived classes add their own.
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
