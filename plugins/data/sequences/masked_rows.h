// SPDX-License-Identifier: Apache-2.0
// Rows for masked language models (Devlin et al. 2018, "BERT", section 3.1). Some text tokens of a
// row are chosen. Most of the chosen ones become the mask token, some another token, the rest stay.
// Labels are the original tokens. Only chosen tokens count in the loss.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/sequences/sequence_dataset.h"
#include "data/tokens/span_choice.h"
#include "trivet/tensor/random.h"
#include "trivet/tokenizer.h"

namespace trivet::data {

struct MaskRules {
  double mask_rate = 0.15;    // share of text tokens that are chosen
  double mask_share = 0.8;    // share of chosen tokens that become mask_id
  double random_share = 0.1;  // share of chosen tokens that become another token
  std::int32_t mask_id = 0;
  std::int64_t seed = 0;
  std::optional<SpanRules> spans{};  // choose instead of mask_rate
};

// The choice depends only on seed, epoch, row and position, so it is the same on any number of
// hosts and after a resume.
class MaskedRows final : public SequenceDataset {
 public:
  // Labels of `rows` must be the ids.
  MaskedRows(std::unique_ptr<SequenceDataset> rows, std::shared_ptr<const Tokenizer> tokenizer,
             MaskRules rules);

  std::int64_t rows() const override { return rows_->rows(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override { return rows_->fingerprint(); }

 private:
  bool is_text(std::int32_t id) const { return is_text_[static_cast<std::size_t>(id)]; }
  void mask(const Row& row, std::span<std::int32_t> ids, std::span<float> weights);

  // Of the spans of a row, whose text tokens have a weight.
  std::vector<bool> chosen_spans(RngKey key, std::span<const std::int32_t> ids,
                                 std::span<const float> weights) const;

  std::unique_ptr<SequenceDataset> rows_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  MaskRules rules_;
  RngKey key_;
  std::vector<bool> is_text_;           // per id
  std::vector<std::int32_t> text_ids_;  // candidates for random replacement
  std::vector<float> draws_;            // three per position
};

// Rows whose ids have masks already: the masks have weight 1, and there are no labels.
class GivenMasks final : public SequenceDataset {
 public:
  GivenMasks(std::unique_ptr<SequenceDataset> rows, std::int32_t mask_id)
      : rows_(std::move(rows)), mask_id_(mask_id) {}

  std::int64_t rows() const override { return rows_->rows(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override { return rows_->fingerprint(); }

 private:
  std::unique_ptr<SequenceDataset> rows_;
  std::int32_t mask_id_;
};

}  // namespace trivet::data
