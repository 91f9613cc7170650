// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/pair_rows.h"

#include <numeric>
#include <utility>
#include <vector>

#include "trivet/config/digest.h"

namespace trivet::data {
namespace {

std::vector<std::int64_t> row_ends(const SequenceRules& source, const SequenceRules& target,
                                   bool pack) {
  const auto source_positions = source.positions(), target_positions = target.positions();
  if (pack) {
    return greedy_rows({{source_positions, source.seq_len}, {target_positions, target.seq_len}});
  }
  std::vector<std::int64_t> ends(target_positions.size());
  std::iota(ends.begin(), ends.end(), 1);
  return ends;
}

}  // namespace

PairRows::PairRows(SequenceRules source, SequenceRules target, bool pack) {
  const std::vector<std::int64_t> ends = row_ends(source, target, pack);
  source_ = std::make_unique<SequenceRows>(std::move(source), ends);
  target_ = std::make_unique<SequenceRows>(std::move(target), ends);
}

Batch PairRows::batch(std::span<const Row> rows) {
  Batch batch;
  for (const auto& [name, tensor] : source_->batch(rows)) {
    if (name != "labels" && name != "weights" && name != "label_bytes") {
      batch.set("src/" + name, tensor);
    }
  }
  for (const auto& [name, tensor] : target_->batch(rows)) batch.set("tgt/" + name, tensor);
  return batch;
}

std::string PairRows::fingerprint() const {
  return digest(source_->fingerprint() + target_->fingerprint());
}

}  // namespace trivet::data
