// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/predictions.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "trivet/error.h"

namespace trivet {
namespace {

const Tensor& checked_logits(const Batch& batch, const NestedMap& outputs) {
  const Tensor& logits = outputs.at("logits");
  const Tensor& labels = batch.at("label");
  const bool is_number = labels.rank() == 1 && labels.dtype() == DType::i32;
  const bool is_dense = labels.rank() == 2 && labels.dtype() == DType::f32 && logits.rank() == 2 &&
                        labels.dim(1) == logits.dim(1);
  if (logits.rank() != 2 || (!is_number && !is_dense) || labels.dim(0) != logits.dim(0)) {
    throw Error(
        "[predictions] expected logits [B, classes] and label i32 [B] or f32 [B, classes], "
        "got " +
        logits.to_string() + " and " + labels.to_string());
  }
  const Tensor* weights = batch.find("weight");
  if (weights != nullptr && (weights->rank() != 1 || weights->dim(0) != logits.dim(0))) {
    throw Error("[predictions] expected weight [B] for logits " + logits.to_string() + ", got " +
                weights->to_string());
  }
  return logits;
}

}  // namespace

Predictions::Predictions(const Batch& batch, const NestedMap& outputs)
    : examples_(checked_logits(batch, outputs).dim(0)),
      classes_(outputs.at("logits").dim(1)),
      logits_(outputs.at("logits")) {
  const Tensor& labels = batch.at("label");
  if (labels.rank() == 1) {
    const HostArray<std::int32_t> numbers(labels);
    labels_.assign(numbers.data(), numbers.data() + examples_);
  } else {
    shares_.emplace(labels);
    for (std::int64_t i = 0; i < examples_; ++i) {
      const std::span row(shares_->data() + i * classes_, static_cast<std::size_t>(classes_));
      labels_.push_back(static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
    }
  }
  if (const Tensor* weights = batch.find("weight")) weights_.emplace(*weights);
}

std::int64_t Predictions::predicted(std::int64_t example) const {
  const float* logits = row(example);
  std::int64_t best = 0;
  for (std::int64_t c = 1; c < classes_; ++c) {
    if (logits[c] > logits[best] || (std::isnan(logits[best]) && !std::isnan(logits[c]))) best = c;
  }
  return best;
}

std::int64_t Predictions::rank_of_label(std::int64_t example) const {
  const float* logits = row(example);
  const std::int64_t wanted = label(example);
  if (wanted < 0 || wanted >= classes_ || std::isnan(logits[wanted])) return classes_;
  std::int64_t rank = 0;
  for (std::int64_t c = 0; c < classes_; ++c) {
    const bool before = logits[c] > logits[wanted] || (logits[c] == logits[wanted] && c < wanted);
    rank += before ? 1 : 0;
  }
  return rank;
}

double sum_of_weights(const Batch& batch) {
  const Tensor* weights = batch.find("weight");
  if (weights == nullptr) return static_cast<double>(batch.at("label").dim(0));
  const HostArray<float> values(*weights);
  double sum = 0;
  for (std::int64_t i = 0; i < weights->size(); ++i) sum += static_cast<double>(values[i]);
  return sum;
}

}  // namespace trivet
