// SPDX-License-Identifier: Apache-2.0
// SequenceRows: documents of token ids as rows of a language model's batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "row_layout.h"
#include "token_store.h"
#include "trivet/input.h"

namespace trivet::data {

// What a document has beside its tokens; nothing: none is added.
struct DocumentMarks {
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;
};

// What becomes of labels that are inputs of their document.
struct InputsRule {
  bool indicate = false;                 // batches have "inputs_indicator"
  bool weights_on_targets_only = false;  // their weights are 0
};

class SequenceRows {
 public:
  // `bytes_of_id`: bytes of text of each id, or empty where that is not known: then batches have no
  // "label_bytes".
  SequenceRows(std::unique_ptr<TokenStore> tokens, DocumentMarks marks, RowLayout::Rules rules,
               std::vector<std::int32_t> bytes_of_id, InputsRule inputs = {});

  std::int64_t rows() const { return layout_.rows(); }
  std::int64_t positions() const { return positions_; }  // of all documents
  const TokenStore& tokens() const { return *tokens_; }

  // A batch of these rows; those that are not `real` have weights 0.
  struct Row {
    std::int64_t row = 0;
    bool real = true;
  };
  Batch batch(const std::vector<Row>& rows);

 private:
  struct Fields;
  void fill(const Row& row, std::size_t at, Fields& fields);
  void read(const Piece& piece);

  std::unique_ptr<TokenStore> tokens_;
  DocumentMarks marks_;
  std::int64_t seq_len_;
  bool trim_;
  InputsRule inputs_;
  std::vector<std::int32_t> bytes_of_id_;
  std::int64_t positions_ = 0;
  RowLayout layout_;
  std::vector<Piece> pieces_;      // of the row in work
  std::vector<std::int32_t> ids_;  // of the piece in work, one more than it has positions
  bool ends_with_mark_ = false;    // the last of them is EOS that was added
};

}  // namespace trivet::data
