// SPDX-License-Identifier: Apache-2.0
#include "model_steps.h"

#include <algorithm>

#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::lm {

ModelSteps::ModelSteps(const NextToken& model, Device& device, std::int64_t rows,
                       std::int64_t max_length, std::int64_t tokens)
    : model_(model),
      device_(device),
      rows_(rows),
      tokens_(std::min(tokens, model.vocabulary_size())),
      cache_(model.make_cache(rows, max_length)) {}

std::vector<float> ModelSteps::extend(std::span<const std::int32_t> ids, std::int64_t count) {
  if (cache_) return logits_of(ids, count);
  remember(ids, count);
  return logits_of(sequences_, length_);
}

std::vector<float> ModelSteps::logits_of(std::span<const std::int32_t> ids, std::int64_t count) {
  const NoGrad no_grad;
  FpropContext context;
  const Tensor tokens = Tensor::from(device_, ids, {rows_, count});
  Tensor logits = model_.next_logits(tokens, cache_.get(), context);
  if (tokens_ < logits.dim(1)) logits = ops::contiguous(ops::slice(logits, 1, 0, tokens_));
  return logits.to_host<float>();
}

void ModelSteps::remember(std::span<const std::int32_t> ids, std::int64_t count) {
  std::vector<std::int32_t> longer;
  longer.reserve(sequences_.size() + ids.size());
  for (std::int64_t row = 0; row < rows_; ++row) {
    const auto known = sequences_.begin() + row * length_;
    longer.insert(longer.end(), known, known + length_);
    const auto added = ids.begin() + row * count;
    longer.insert(longer.end(), added, added + count);
  }
  sequences_ = std::move(longer);
  length_ += count;
}

void ModelSteps::reorder(std::span<const std::int32_t> rows) {
  if (cache_) return cache_->reorder(rows);
  std::vector<std::int32_t> reordered;
  reordered.reserve(sequences_.size());
  for (const std::int32_t row : rows) {
    const auto begin = sequences_.begin() + row * length_;
    reordered.insert(reordered.end(), begin, begin + length_);
  }
  sequences_ = std::move(reordered);
}

}  // namespace trivet::lm
