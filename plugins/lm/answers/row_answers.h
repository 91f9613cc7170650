// SPDX-License-Identifier: Apache-2.0
// RowAnswer: what a row of data/QuestionAnswering, one window of a context, says about its
// question, and what all rows of a question say together.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lm/answers/span_search.h"
#include "trivet/tensor/nested_map.h"

namespace trivet::lm {

struct RowAnswer {
  static constexpr double kWorst = -std::numeric_limits<double>::infinity();

  std::int64_t question = 0;
  std::int64_t window = 0, windows = 1;  // which one of how many
  std::string id;                        // empty: none
  std::string text;
  std::int64_t start = 0, end = 0;  // characters of the context; of the text
  double score = kWorst;            // of the text; kWorst without one
  double null_score = 0;
  std::vector<std::string> answers;  // the right ones

  bool found() const { return score != kWorst; }
  // How much better no answer is than the text; infinite without one.
  double null_difference() const;
  // Another window of the question: its text if that has the larger score, and its null score if
  // that is smaller.
  void merge(RowAnswer other);
};

// Of each row; nothing for rows of weight 0. A null score that is not a number is kWorst. Throws
// Error if the outputs are not "start_logits" and "end_logits" f32 [B, T] of the T positions.
std::vector<std::optional<RowAnswer>> row_answers(const Batch& batch, const NestedMap& outputs,
                                                  const SpanRules& rules);

}  // namespace trivet::lm
