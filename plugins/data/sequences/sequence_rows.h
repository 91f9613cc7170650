// SPDX-License-Identifier: Apache-2.0
// SequenceRows: documents of token ids as rows of language model batches.
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

// Special tokens to add to a document. Empty: none is added.
struct DocumentSpecialTokens {
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;
};

// Documents and how to make rows of them.
struct SequenceRules {
  std::shared_ptr<const TokenStore> tokens;
  DocumentSpecialTokens special;
  std::int64_t seq_len = 1;
  bool shifted = true;  // a label is the token after its id; else it is its id
  // Bytes of text of each id. Empty if unknown: batches then have no "label_bytes".
  std::vector<std::int32_t> bytes_of_id;
  bool indicate_inputs = false;          // adds "inputs_indicator", by ids
  bool add_task_ids = false;             // adds "task_ids"
  bool weights_on_targets_only = false;  // labels that are TokenStore::unweighted get weight 0
  std::vector<std::string> features{};   // names of the tokens' texts that batches have
  // Draws where rows that are cut from all documents start in each epoch but the first. Empty:
  // always at 0.
  std::optional<RngKey> random_offsets;

  // The number of positions of each document; 0 for a document without tokens.
  std::vector<std::int64_t> positions() const;
};

class SequenceRows final : public SequenceDataset {
 public:
  SequenceRows(SequenceRules rules, const SequenceConfig& config);
  // Puts whole documents into given rows.
  SequenceRows(SequenceRules rules, const std::vector<std::int64_t>& row_ends);

  std::int64_t rows() const override { return layout_.rows(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override { return fingerprint_; }

 private:
  struct Fields;
  void fill(const Row& row, std::size_t at, Fields& fields);
  std::int64_t offset_in(std::int64_t epoch) const;
  void read(const Piece& piece);
  // Of each row's document. Rows have one.
  std::vector<std::string> feature_of(std::span<const Row> rows, std::size_t feature);

  SequenceRules rules_;
  bool trim_;
  RowLayout layout_;
  std::string fingerprint_;
  std::vector<Piece> pieces_;      // of the current row
  std::vector<std::int32_t> ids_;  // of the current piece; one more than its positions if shifted
  bool ends_with_special_token_ = false;  // the last id is an added EOS
};

}  // namespace trivet::data
