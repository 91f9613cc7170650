// SPDX-License-Identifier: Apache-2.0
// Rows of pairs, for models that read one sequence and write another: fields of the source under
// "src/", fields of the target under "tgt/". Segment i of the source belongs to segment i of the
// target.
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
  // Document i of `source` belongs to document i of `target`; both must have tokens. Both are cut
  // to their seq_len. With `pack` a row holds as many pairs as fit on both sides.
  PairRows(SequenceRules source, SequenceRules target, bool pack);

  std::int64_t rows() const override { return target_->rows(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override;

 private:
  std::unique_ptr<SequenceRows> source_, target_;
};

// Rows of sources alone, one for each document.
class SourceRows final : public SequenceDataset {
 public:
  // Documents are cut to seq_len.
  explicit SourceRows(SequenceRules source);

  std::int64_t rows() const override { return source_.rows(); }
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override { return source_.fingerprint(); }

 private:
  SequenceRows source_;
};

}  // namespace trivet::data
