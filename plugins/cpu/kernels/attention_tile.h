// SPDX-License-Identifier: Apache-2.0
// Which keys the queries of attention see.
#pragma once

#include <algorithm>
#include <cstdint>

#include <trivet/backend/backend.h>

#include "cpu/kernels/attention_scores.h"
#include "cpu/kernels/key_rows.h"

namespace cpu {

struct Span {
  std::int64_t begin, end;

  std::int64_t size() const { return end - begin; }
};

// The keys that query i may see, ignoring segments.
inline Span key_range(const tv_attention& a, std::int64_t i) {
  const std::int64_t at = i + a.q_offset, keys = a.k.shape[1];
  const std::int64_t end = a.causal ? std::clamp<std::int64_t>(at + 1, 0, keys) : keys;
  return {a.window > 0 ? std::clamp<std::int64_t>(at - a.window + 1, 0, end) : 0, end};
}

// Consecutive queries of one head, and the keys that any of them may see.
struct Tile {
  std::int64_t batch, head, first, count;  // queries
  Span keys;

  Tile(const tv_attention& a, std::int64_t batch, std::int64_t head, std::int64_t tile)
      : batch(batch), head(head), first(tile * kTileQueries) {
    count = std::min(kTileQueries, a.q.shape[1] - first);
    keys.end = key_range(a, first + count - 1).end;
    keys.begin = std::min(key_range(a, first).begin, keys.end);
  }

  std::int64_t width() const { return ceil_div(count, kQueryStep) * kQueryStep; }

  // Calls f(block, the part of the block that is seen, from its start), in order.
  template <typename F>
  void each_block(const F& f) const {
    if (keys.size() == 0) return;
    for (std::int64_t block = keys.begin / kBlockKeys; block * kBlockKeys < keys.end; ++block) {
      const std::int64_t start = block * kBlockKeys;
      const std::int64_t begin = std::max<std::int64_t>(0, keys.begin - start);
      f(block, Span{begin / kRowStep * kRowStep, std::min(kBlockKeys, keys.end - start)});
    }
  }
};

}  // namespace cpu
