// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/cached_decoder.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::lm {

CachedDecoder::CachedDecoder(const NextToken& model, Device& device, std::int64_t max_steps,
                             std::int64_t tokens, std::int64_t longest_prompt)
    : model_(model),
      device_(device),
      max_steps_(max_steps),
      tokens_(std::min(tokens, model.vocabulary_size())),
      longest_prompt_(longest_prompt) {}

bool CachedDecoder::can_insert_into(const NextToken& model) {
  const std::unique_ptr<LayerCache> cache = model.make_cache(1, 1);
  return !cache || cache->can_append_rows();
}

std::vector<float> CachedDecoder::start(std::span<const std::vector<std::int32_t>> prompts) {
  std::int64_t longest = 0;
  rows_.clear();
  for (const auto& prompt : prompts) {
    rows_.push_back({.prompt = std::ssize(prompt), .length = std::ssize(prompt)});
    longest = std::max(longest, std::ssize(prompt));
  }
  room_ = std::max(longest, longest_prompt_) + max_steps_;
  cache_ = model_.make_cache(std::ssize(prompts), room_);
  columns_ = longest;
  if (cache_) return padded(prompts, longest);
  for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row].ids = prompts[row];
  return from_the_start();
}

// The prompts as one chunk [rows, length].
std::vector<float> CachedDecoder::padded(std::span<const std::vector<std::int32_t>> prompts,
                                         std::int64_t length) {
  const auto width = static_cast<std::size_t>(length), all = prompts.size() * width;
  std::vector<std::int32_t> ids(all, 0), positions(all, 0);
  std::vector<float> paddings(all, 1), is_prompt(all, 0);
  padded_ = false;
  for (std::size_t row = 0; row < prompts.size(); ++row) {
    const std::size_t padding = width - prompts[row].size();
    padded_ = padded_ || padding > 0;
    for (std::size_t i = 0; i < prompts[row].size(); ++i) {
      const std::size_t at = row * width + padding + i;
      ids[at] = prompts[row][i];
      positions[at] = static_cast<std::int32_t>(i);
      paddings[at] = 0;
      is_prompt[at] = 1;
    }
  }
  const Shape shape = {std::ssize(prompts), length};
  FpropContext context;
  if (model_.sees_whole_prompt()) {
    context.inputs_indicator = Tensor::from<float>(device_, is_prompt, shape);
  }
  if (padded_) {
    context.paddings = Tensor::from<float>(device_, paddings, shape);
    context.positions = Tensor::from<std::int32_t>(device_, positions, shape);
  }
  return logits_of(ids, shape[0], context);
}

std::vector<float> CachedDecoder::extend(std::span<const std::int32_t> ids) {
  if (!cache_) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      rows_[row].ids.push_back(ids[row]);
      ++rows_[row].length;
    }
    return from_the_start();
  }
  if (columns_ == room_) {  // of rows that have left
    columns_ = longest_row();
    cache_->align(columns_);
  }
  ++columns_;
  std::vector<std::int32_t> positions;
  for (Row& row : rows_) positions.push_back(static_cast<std::int32_t>(row.length++));
  FpropContext context;
  if (padded_) {
    context.positions = Tensor::from<std::int32_t>(device_, positions, {std::ssize(rows_), 1});
  }
  return logits_of(ids, std::ssize(rows_), context);
}

// Computes each row separately: a layer without a cache may mix the rows of a batch, as MoE layers
// with a capacity do, and a text must not depend on its batch.
std::vector<float> CachedDecoder::from_the_start() {
  std::vector<float> all;
  for (const Row& row : rows_) {
    std::vector<float> is_prompt(row.ids.size(), 0);
    std::fill_n(is_prompt.begin(), row.prompt, 1.0F);
    FpropContext context;
    if (model_.sees_whole_prompt()) {
      context.inputs_indicator = Tensor::from<float>(device_, is_prompt, {1, row.length});
    }
    const std::vector<float> logits = logits_of(row.ids, 1, context);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

std::vector<float> CachedDecoder::logits_of(std::span<const std::int32_t> ids, std::int64_t rows,
                                            FpropContext& context) {
  const NoGrad no_grad;
  const Tensor tokens = Tensor::from(device_, ids, {rows, std::ssize(ids) / rows});
  return to_host(model_.next_logits(tokens, cache_.get(), context));
}

// Of the tokens that have text.
std::vector<float> CachedDecoder::to_host(const Tensor& logits) const {
  const int last = static_cast<int>(logits.rank()) - 1;
  if (tokens_ == logits.dim(last)) return logits.to_host<float>();
  return ops::contiguous(ops::slice(logits, last, 0, tokens_)).to_host<float>();
}

std::vector<float> CachedDecoder::extend_by(std::span<const std::int32_t> ids) {
  const NoGrad no_grad;
  columns_ += std::ssize(ids), rows_[0].length += std::ssize(ids);
  FpropContext context;
  const Tensor tokens = Tensor::from(device_, ids, {1, std::ssize(ids)});
  return to_host(model_.all_logits(tokens, *cache_, context));
}

void CachedDecoder::remove_last(std::int64_t count) {
  cache_->remove_last(count);
  columns_ -= count, rows_[0].length -= count;
}

std::int64_t CachedDecoder::longest_row() const {
  return std::ranges::max_element(rows_, {}, &Row::length)->length;
}

std::vector<float> CachedDecoder::insert(std::span<const std::vector<std::int32_t>> prompts) {
  if (rows_.empty()) return start(prompts);
  CachedDecoder fresh(model_, device_, max_steps_, tokens_, longest_prompt_);
  std::vector<float> logits = fresh.start(prompts);
  rows_.insert(rows_.end(), fresh.rows_.begin(), fresh.rows_.end());
  if (!cache_) return logits;
  columns_ = longest_row();
  cache_->align(columns_);
  fresh.cache_->align(columns_);
  cache_->append_rows(*fresh.cache_);
  padded_ = true;
  return logits;
}

void CachedDecoder::reorder(std::span<const std::int32_t> rows) {
  if (rows.empty()) {  // the next rows start with a new cache
    rows_.clear();
    cache_.reset();
    return;
  }
  std::vector<Row> reordered;
  for (const std::int32_t row : rows) reordered.push_back(rows_.at(static_cast<std::size_t>(row)));
  rows_ = std::move(reordered);
  if (cache_) cache_->reorder(rows);
}

}  // namespace trivet::lm
