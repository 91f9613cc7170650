// SPDX-License-Identifier: Apache-2.0
#include "lm/answers/span_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace trivet::lm {
namespace {

// The positions of the largest logits, the largest first; NaN last.
std::vector<std::size_t> likeliest(std::span<const float> logits, std::int64_t count) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const bool a_is_nan = logits[a] != logits[a], b_is_nan = logits[b] != logits[b];
    return a_is_nan || b_is_nan ? !a_is_nan && b_is_nan : logits[a] > logits[b];
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

}  // namespace

AnswerSpan best_span(const SpanRow& row, const SpanRules& rules) {
  AnswerSpan best{.score = -std::numeric_limits<double>::infinity()};
  const std::vector<std::size_t> ends = likeliest(row.end_logits, rules.n_best_size);
  for (const std::size_t start : likeliest(row.start_logits, rules.n_best_size)) {
    if (row.token_begin[start] < 0 || row.best_context[start] == 0) continue;
    for (const std::size_t end : ends) {
      if (end < start || row.token_end[end] < 0) continue;
      if (static_cast<std::int64_t>(end - start) >= rules.max_answer_length) continue;
      const double score =
          static_cast<double>(row.start_logits[start]) + static_cast<double>(row.end_logits[end]);
      if (!(score > best.score)) continue;
      best = {.found = true,
              .score = score,
              .begin = row.token_begin[start],
              .end = row.token_end[end]};
    }
  }
  return best;
}

}  // namespace trivet::lm
