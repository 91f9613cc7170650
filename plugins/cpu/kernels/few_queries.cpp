// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/few_queries.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cpu {

std::int64_t FewQueries::memory(const Extents& e) {
  return e.group() * e.queries * (2 * e.depth + kBlockKeys);
}

FewQueries::FewQueries(const tv_attention& a, std::int64_t batch, std::int64_t kv, float* memory)
    : a_(a), e_(a), batch_(batch), kv_(kv) {
  scores_ = memory;
  queries_ = scores_ + count() * kBlockKeys, sums_ = queries_ + count() * e_.depth;
  for (std::int64_t row = 0; row < count(); ++row) {
    std::copy_n(row_of(a.q, row), e_.depth, queries_ + row * e_.depth);
  }
}

void FewQueries::attend(const KeyRows& rows) {
  Tile(a_, batch_, kv_ * e_.group(), 0).each_block([&](std::int64_t block, Span seen) {
    add_block(rows, block, seen);
  });
  finish();
}

void FewQueries::add_block(const KeyRows& rows, std::int64_t block, Span seen) {
  const std::int64_t first_key = block * kBlockKeys + seen.begin, keys = seen.size();
  BlockProduct p;
  p.m = count(), p.n = keys, p.k = e_.depth;
  p.left = {queries_, e_.depth, Layout::rows};
  p.right = rows.left(block, seen.begin), p.right.layout = Layout::columns;
  p.c = scores_, p.ldc = kBlockKeys, p.alpha = a_.scale;
  multiply_block(p);
  for (std::int64_t row = 0; row < count() && a_.softcap > 0; ++row) {
    cap_row(keys, a_.softcap, scores_ + row * kBlockKeys);
  }
  hide(first_key, keys);
  for (std::int64_t row = 0; row < count(); ++row) {
    add_row_to_softmax(row, keys, scores_ + row * kBlockKeys, softmax_);
    float* const sums = sums_ + row * e_.depth;
    const float correction = softmax_.correction[static_cast<std::size_t>(row)];
    if (!is_first_) scale_row(e_.depth, correction, sums, sums);
  }
  p.n = e_.depth, p.k = keys;
  p.left = {scores_, kBlockKeys, Layout::rows};
  p.right = rows.right(block, seen.begin);
  p.c = sums_, p.ldc = e_.depth, p.alpha = 1, p.beta = is_first_ ? 0 : 1;
  multiply_block(p);
  is_first_ = false;
}

void FewQueries::hide(std::int64_t first_key, std::int64_t keys) const {
  const std::int32_t* const own = a_.kv_segments ? a_.kv_segments + batch_ * e_.keys : nullptr;
  for (std::int64_t row = 0; row < count(); ++row) {
    float* const scores = scores_ + row * kBlockKeys;
    const Span seen = key_range(a_, query(row));
    const std::int64_t begin = std::clamp<std::int64_t>(seen.begin - first_key, 0, keys);
    const std::int64_t end = std::clamp<std::int64_t>(seen.end - first_key, begin, keys);
    std::fill(scores, scores + begin, kHidden);
    std::fill(scores + end, scores + keys, kHidden);
    if (a_.q_segments == nullptr) continue;
    const std::int32_t segment = a_.q_segments[batch_ * e_.queries + query(row)];
    for (std::int64_t j = begin; j < end; ++j) {
      if (own[first_key + j] != segment) scores[j] = kHidden;
    }
  }
}

void FewQueries::finish() const {
  for (std::int64_t row = 0; row < count(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const float total = softmax_.total[at];
    float& lse = a_.lse[(batch_ * e_.heads + head(row)) * e_.queries + query(row)];
    if (is_first_ || total == 0) {
      std::fill_n(row_of(a_.out, row), e_.depth, 0.0f);
      lse = -std::numeric_limits<float>::infinity();
    } else {
      scale_row(e_.depth, 1 / total, sums_ + row * e_.depth, row_of(a_.out, row));
      lse = softmax_.most[at] + std::log(total);
    }
  }
}

}  // namespace cpu
