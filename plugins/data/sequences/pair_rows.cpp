// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/pair_rows.h"

#include <numeric>
#include <utility>
#include <vector>

#include "trivet/config/digest.h"

namespace trivet::data {
namespace {

std::vector<std::int64_t> one_per_row(std::size_t documents) {
  std::vector<std::int64_t> ends(documents);
  std::iota(ends.begin(), ends.end(), 1);
  return ends;
}

std::vector<std::int64_t> row_ends(const SequenceRules& source, const SequenceRules& target,
                                   bool pack) {
  const auto source_positions = source.positions(), target_positions = target.positions();
  if (pack) {
    return greedy_rows({{source_positions, source.seq_len}, {target_positions, target.seq_len}});
  }
  return one_per_row(target_positions.size());
}

void add_source(Batch& batch, const Batch& source) {
  for (const auto& [name, tensor] : source) {
    if (name != "labels" && name != "weights" && name != "label_bytes") {
      batch.set("src/" + name, tensor);
    }
  }
}

}  // namespace

PairRows::PairRows(SequenceRules source, SequenceRules target, bool pack) {
  const std::vector<std::int64_t> ends = row_ends(source, target, pack);
  source_ = std::make_unique<SequenceRows>(std::move(source), ends);
  target_ = std::make_unique<SequenceRows>(std::move(target), ends);
}

Batch PairRows::batch(std::span<const Row> rows) {
  Batch batch;
  add_source(batch, source_->batch(rows));
  for (const auto& [name, tensor] : target_->batch(rows)) batch.set("tgt/" + name, tensor);
  return batch;
}

std::string PairRows::fingerprint() const {
  return digest(source_->fingerprint() + target_->fingerprint());
}

SourceRows::SourceRows(SequenceRules source)
    : source_(source, one_per_row(static_cast<std::size_t>(source.tokens->documents()))) {}

Batch SourceRows::batch(std::span<const Row> rows) {
  Batch batch;
  add_source(batch, source_.batch(rows));
  return batch;
}

}  // namespace trivet::data
