// SPDX-License-Identifier: Apache-2.0
// Rows for permutation language models (Yang et al. 2019, "XLNet", sections 2.2 and 2.3), which
// predict the chosen tokens of a row in an order that is drawn. The order is the field
// "permutation" i32 [B, T], whose numbers trivet/layer/token_fields.h explains. As in XLNet's code
// a row is cut into parts of `size` positions. One permutation of `size` positions orders the
// tokens of each part, and parts come one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "data/sequences/sequence_dataset.h"
#include "trivet/tensor/random.h"

namespace trivet::data {

struct PermutationRules {
  std::int64_t size = 0;  // 0: the row
  double leak_ratio = 0;  // share of chosen tokens that all positions know
  std::int64_t seed = 0;
};

// The order depends only on seed, epoch and row, so it is the same on any number of hosts and after
// a resume.
class PermutedRows final : public SequenceDataset {
 public:
  // Chosen tokens of `rows` are those whose weight is not 0. Without rules no chosen token knows
  // another one.
  PermutedRows(std::unique_ptr<SequenceDataset> rows, std::optional<PermutationRules> rules)
      : rows_(std::move(rows)), rules_(rules) {}

  std::int64_t rows() const override { return rows_->rows(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override { return rows_->fingerprint(); }

 private:
  void order(const Row& row, std::span<const float> weights, std::span<std::int32_t> orders) const;

  std::unique_ptr<SequenceDataset> rows_;
  std::optional<PermutationRules> rules_;
};

}  // namespace trivet::data
