// SPDX-License-Identifier: Apache-2.0
// Rows for masked language models (Devlin et al. 2018, "BERT", section 3.1): of the tokens that are
// text some are chosen; most of those become the mask, some another token, the others stay. Labels
// are the tokens themselves, and only the chosen ones count.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/sequences/sequence_dataset.h"
#include "trivet/tensor/random.h"
#include "trivet/tokenizer.h"

namespace trivet::data {

struct MaskRules {
  double mask_rate = 0.15;    // of the tokens are chosen,
  double mask_share = 0.8;    // of which this part becomes mask_id,
  double random_share = 0.1;  // and this another token
  std::int32_t mask_id = 0;
  std::int64_t seed = 0;
};

// What is chosen is a function of seed, pass, row and position: the same on any number of hosts and
// after a resume.
class MaskedRows final : public SequenceDataset {
 public:
  // `rows` with labels that are the ids.
  MaskedRows(std::unique_ptr<SequenceDataset> rows, const Tokenizer& tokenizer, MaskRules rules);

  std::int64_t rows() const override { return rows_->rows(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override { return rows_->fingerprint(); }

 private:
  void mask(const Row& row, std::span<std::int32_t> ids, std::span<float> weights);

  std::unique_ptr<SequenceDataset> rows_;
  MaskRules rules_;
  RngKey key_;
  std::vector<bool> is_text_;           // of each id
  std::vector<std::int32_t> text_ids_;  // what a token may be replaced with
  std::vector<float> draws_;            // three a position
};

}  // namespace trivet::data
