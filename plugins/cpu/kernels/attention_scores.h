// SPDX-License-Identifier: Apache-2.0
// Element-wise parts of attention on blocks of scores. A block is stored with a row per key and a
// column per query, so that all queries of a vector take part in one instruction and no sum crosses
// a vector.
#pragma once

#include <array>
#include <cstdint>

namespace cpu {

inline constexpr std::int64_t kTileQueries = 64;
inline constexpr std::int64_t kQueryStep = 16;  // widths of blocks are multiples of this

// Replaces minus infinity: its exponential is 0, and differences of it are finite.
inline constexpr float kHidden = -1e30f;

using PerQuery = std::array<float, kTileQueries>;

// [keys, width] with rows kTileQueries apart.
struct ScoreBlock {
  float* data = nullptr;
  std::int64_t keys = 0, width = 0;

  float* row(std::int64_t key) const { return data + key * kTileQueries; }
};

// s = cap tanh(s / cap)
void cap_scores(const ScoreBlock& scores, float cap);

// A softmax over blocks of keys, one after another (Milakov and Gimelshein 2018, "Online normalizer
// calculation for softmax").
struct RunningSoftmax {
  PerQuery most, total;  // the largest score, and the sum of exp(score - most)
  PerQuery correction;   // the last step's factor for sums of earlier blocks

  RunningSoftmax() {
    most.fill(kHidden);
    total.fill(0);
  }
};

// Replaces scores by exp(score - most).
void add_to_softmax(const ScoreBlock& scores, RunningSoftmax& softmax);

// The same for the scores of one query in a row.
void cap_row(std::int64_t keys, float cap, float* scores);
void add_row_to_softmax(std::int64_t query, std::int64_t keys, float* scores,
                        RunningSoftmax& softmax);

// weights = exp(scores - lse); 0 where lse is minus infinity.
void weights_of(const ScoreBlock& scores, const PerQuery& lse, float* weights);

// dp becomes scale weights (dp - delta); with a cap, times 1 - (score / cap)^2; 0 where the weight
// is 0. The arrays have the layout of the scores.
void score_gradient(const ScoreBlock& scores, const float* weights, const PerQuery& delta,
                    float scale, float cap, float* dp);

// to = factor * from, n elements each.
void scale_row(std::int64_t n, float factor, const float* from, float* to);

float dot(std::int64_t n, const float* a, const float* b);

}  // namespace cpu
