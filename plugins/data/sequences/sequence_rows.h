// SPDX-License-Identifier: Apache-2.0
// SequenceRows: documents of token ids as rows of a language model's batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/sequences/row_layout.h"
#include "data/sequences/sequence_config.h"
#include "data/sequences/sequence_dataset.h"
#include "data/tokens/token_store.h"
#include "trivet/input.h"
#include "trivet/tensor/random.h"

namespace trivet::data {

// What a document has beside its tokens; nothing: none is added.
struct DocumentSpecialTokens {
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;
};

// Documents and how they become rows.
struct SequenceRules {
  std::shared_ptr<const TokenStore> tokens;
  DocumentSpecialTokens special;
  std::int64_t seq_len = 1;
  bool shifted = true;  // a label is the token behind its id; else it is its id
  // Bytes of text of each id, or empty where that is not known: then batches have no "label_bytes".
  std::vector<std::int32_t> bytes_of_id;
  bool indicate_inputs = false;          // batches have "inputs_indicator", by ids
  bool weights_on_targets_only = false;  // labels that are inputs have weights 0
  // Where rows that are cut from all documents start in each pass but the first; nothing: at 0.
  std::optional<RngKey> random_offsets;

  // How many positions each document takes; those without tokens take none.
  std::vector<std::int64_t> positions() const;
};

class SequenceRows final : public SequenceDataset {
 public:
  SequenceRows(SequenceRules rules, const SequenceConfig& config);
  // Whole documents in given rows.
  SequenceRows(SequenceRules rules, const std::vector<std::int64_t>& row_ends);

  std::int64_t rows() const override { return layout_.rows(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override { return fingerprint_; }

 private:
  struct Fields;
  void fill(const Row& row, std::size_t at, Fields& fields);
  std::int64_t offset_in(std::int64_t epoch) const;
  void read(const Piece& piece);

  SequenceRules rules_;
  bool trim_;
  RowLayout layout_;
  std::string fingerprint_;
  std::vector<Piece> pieces_;      // of the row in work
  std::vector<std::int32_t> ids_;  // of the piece in work; shifted, one more than it has positions
  bool ends_with_special_token_ = false;  // the last of them is EOS that was added
};

}  // namespace trivet::data
