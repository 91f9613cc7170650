// SPDX-License-Identifier: Apache-2.0
// Rows of pairs, for models that read one sequence and write another: the fields of the first below
// "src/", of the second below "tgt/". Segment i of a row's one side belongs to segment i of the
// other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/sequences/sequence_dataset.h"
#include "data/sequences/sequence_rows.h"

namespace trivet::data {

class PairRows final : public SequenceDataset {
 public:
  // Document i of `source` goes with document i of `target`; neither has one without tokens. Both
  // are cut to their seq_len; with `pack` as many pairs are in a row as fit on both sides.
  PairRows(SequenceRules source, SequenceRules target, bool pack);

  std::int64_t rows() const override { return target_->rows(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override;

 private:
  std::unique_ptr<SequenceRows> source_, target_;
};

}  // namespace trivet::data
