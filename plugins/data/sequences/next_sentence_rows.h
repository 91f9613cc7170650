// SPDX-License-Identifier: Apache-2.0
// Rows for next-sentence prediction (Devlin et al. 2018, "BERT", section 3.1, task 2): BOS a EOS b
// EOS, where a and b are spans of tokens. In half of the rows b follows a in its document; in the
// others it is a span of another document. As in the paper, a "sentence" is a span of any length.
//
// A document of n tokens is cut into windows of the tokens that a row has room for; each is a row.
// A last window of one token begins one token earlier. Documents of one token make no rows, but may
// be drawn. Where a window is divided, whether its second part stays, and what replaces it are
// drawn: a uniform from 1 token to all but one; another document, all equally likely; a position in
// it from which the span has as many tokens as the one it replaces, or the whole document if that
// is shorter. The draws depend only on seed, epoch and row.
//
// Beside the fields of sequence_config.h, batches have
//
//   "token_type_ids"       i32 [B, T]  0 up to the first EOS, then 1; 0 for padding
//   "next_sentence_label"  i32 [B]     0: b follows a; 1: it does not (the numbers of BERT's code)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/sequences/sequence_dataset.h"
#include "data/sequences/sequence_rows.h"
#include "trivet/tensor/random.h"

namespace trivet::data {

class NextSentenceRows final : public SequenceDataset {
 public:
  // `rules` must not be shifted. Throws InputError, located at `input`, without room for two tokens
  // in a row, or with fewer than two documents.
  NextSentenceRows(SequenceRules rules, std::int64_t seed, const std::string& input);

  std::int64_t rows() const override { return row_ends_.empty() ? 0 : row_ends_.back(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override { return fingerprint_; }

 private:
  struct Span {
    std::int64_t document = 0, begin = 0, length = 0;
  };
  struct Pair {
    Span a, b;
    bool is_next = true;
  };
  struct Fields;
  Span window(std::int64_t row) const;
  Pair pair(const Row& row) const;
  // Writes the tokens and an EOS behind `at`; returns the position after it.
  std::size_t write(const Span& span, std::size_t at, std::int32_t type, bool real,
                    Fields& fields) const;

  SequenceRules rules_;
  RngKey key_;
  std::int64_t room_;                    // tokens of a row
  std::vector<std::int64_t> row_ends_;   // rows up to and including each document
  std::vector<std::int64_t> documents_;  // those with tokens
  std::string fingerprint_;
};

}  // namespace trivet::data
