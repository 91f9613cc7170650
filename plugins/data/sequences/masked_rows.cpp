// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/masked_rows.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace trivet::data {

MaskedRows::MaskedRows(std::unique_ptr<SequenceDataset> rows,
                       std::shared_ptr<const Tokenizer> tokenizer, MaskRules rules)
    : rows_(std::move(rows)),
      tokenizer_(std::move(tokenizer)),
      rules_(rules),
      key_(RngKey(static_cast<std::uint64_t>(rules.seed)).fold("mask")) {
  for (std::int32_t id = 0; id < tokenizer_->vocabulary_size(); ++id) {
    is_text_.push_back(!tokenizer_->is_special(id) && id != rules.mask_id);
    if (is_text_.back()) text_ids_.push_back(id);
  }
}

Batch MaskedRows::batch(std::span<const Row> rows) {
  Batch batch = rows_->batch(rows);
  Tensor ids = batch.at("ids"), weights = batch.at("weights");
  const auto id = ids.mutable_span<std::int32_t>();
  const auto weight = weights.mutable_span<float>();
  const std::size_t width = id.size() / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    mask(rows[i], id.subspan(i * width, width), weight.subspan(i * width, width));
  }
  return batch;
}

void MaskedRows::mask(const Row& row, std::span<std::int32_t> ids, std::span<float> weights) {
  draws_.resize(3 * ids.size());
  const RngKey key =
      key_.fold(static_cast<std::uint64_t>(row.epoch)).fold(static_cast<std::uint64_t>(row.row));
  random_uniform(key, 0, 1, draws_);
  const std::vector<bool> spans =
      rules_.spans ? chosen_spans(key.fold("spans"), ids, weights) : std::vector<bool>();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const float chosen = draws_[3 * i], action = draws_[3 * i + 1], other = draws_[3 * i + 2];
    const bool counts =
        rules_.spans ? spans[i] : weights[i] > 0 && is_text(ids[i]) && chosen < rules_.mask_rate;
    weights[i] = counts ? 1 : 0;
    if (!counts) continue;
    if (action < rules_.mask_share) {
      ids[i] = rules_.mask_id;
    } else if (action < rules_.mask_share + rules_.random_share) {
      const auto index = static_cast<std::size_t>(other * static_cast<float>(text_ids_.size()));
      ids[i] = text_ids_[std::min(index, text_ids_.size() - 1)];
    }
  }
}

std::vector<bool> MaskedRows::chosen_spans(RngKey key, std::span<const std::int32_t> ids,
                                           std::span<const float> weights) const {
  std::vector<bool> is_candidate;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    is_candidate.push_back(weights[i] > 0 && is_text(ids[i]));
  }
  const SampleStrategy strategy = rules_.spans->strategy;
  const bool has_words =
      strategy == SampleStrategy::whole_word || strategy == SampleStrategy::word_span;
  const std::vector<std::size_t> words =
      has_words ? word_begins_of(*tokenizer_, ids, is_candidate) : std::vector<std::size_t>();
  return choose_spans(*rules_.spans, key, is_candidate, words);
}

Batch GivenMasks::batch(std::span<const Row> rows) {
  Batch batch = rows_->batch(rows);
  Tensor weights = batch.at("weights");
  const auto ids = batch.at("ids").span<std::int32_t>();
  const auto weight = weights.mutable_span<float>();
  for (std::size_t i = 0; i < ids.size(); ++i) weight[i] = ids[i] == mask_id_ ? 1.0F : 0.0F;
  batch.erase("labels");
  batch.erase("label_bytes");
  return batch;
}

}  // namespace trivet::data
