// SPDX-License-Identifier: Apache-2.0
// The best part of a context by the logits of its start and its end (Devlin et al. 2018,
// run_squad.py).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trivet::lm {

// One row of data/QuestionAnswering (question_answering_config.h).
struct SpanRow {
  std::span<const float> start_logits, end_logits;       // [T]
  std::span<const std::int32_t> token_begin, token_end;  // [T]
  std::span<const float> best_context;                   // [T]
};

struct SpanRules {
  std::int64_t n_best_size = 20;
  std::int64_t max_answer_length = 30;  // tokens
};

struct AnswerSpan {
  bool found = false;
  double score = 0;                 // start logit + end logit
  std::int32_t begin = 0, end = 0;  // bytes of the context
};

// Of the n_best_size likeliest starts and ends in the context, those that make a span of at most
// max_answer_length tokens that starts where best_context is 1; the first of equals. Logits that
// are not numbers make no span. Not found if there is none.
AnswerSpan best_span(const SpanRow& row, const SpanRules& rules);

}  // namespace trivet::lm
