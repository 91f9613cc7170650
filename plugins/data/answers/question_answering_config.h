// SPDX-License-Identifier: Apache-2.0
// data/QuestionAnswering: questions whose answers are parts of a text, the context, from files in
// the form of SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018). A row is
//
//   [CLS] question [SEP] window of the context [SEP]
//
// A context that does not fit has several rows, whose windows start doc_stride tokens after each
// other (Devlin et al. 2018, run_squad.py). The context is tokenized in pieces (context_pieces.h),
// each with a blank before it if the context has white space there. Answers are whole pieces.
// Batches have the fields of labeled_config.h and
//
//   "token_type_ids"   i32 [B, T]  0 up to the first [SEP], then 1
//   "start_positions"  i32 [B]     the first and
//   "end_positions"    i32 [B]     the last position of the answer; 0, [CLS], where the window does
//                                  not have all of it
//   "question"         i32 [B]     the number of the question in the data
//   "id"               u8 [B, I]   its id, then zeros; zeros alone: it has none
//   "window"           i32 [B]     which of the windows of the question the row has, from 0
//   "windows"          i32 [B]     how many it has; without shuffling their rows are neighbors
//   "token_begin"      i32 [B, T]  where the token's piece begins and
//   "token_end"        i32 [B, T]  ends in "context"; -1 outside the window
//   "best_context"     f32 [B, T]  1 in the window that has the most context on both sides of the
//                                  token: an answer starts there alone
//   "context"          u8 [B, C]   the bytes of the window, then zeros
//   "context_begin"    i32 [B]     characters of the context before the window
//   "answers"          u8 [B, A]   the right answers, a zero after each; "" alone for a question
//                                  that has none
//
// In evaluations the files may lack "answers" of all questions; then the batch has neither
// positions nor "answers".
//
// Examples to predict are lines of JSON with "context", "question" and, if they like, "id". A batch
// has up to batch_size windows of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/labeled/labeled_config.h"

namespace trivet::data {

struct QuestionAnsweringConfig : InputConfig {
  std::vector<Path> files;
  ConfigOf<Tokenizer> tokenizer;
  std::int64_t seq_len = 0;
  std::int64_t doc_stride = 128;
  std::int64_t max_query_length = 64;
  bool version_2 = false;
  std::optional<std::int32_t> cls_id;
  std::optional<std::int32_t> sep_id;
  Bytes limit = std::int64_t{1} << 30;
};
TRIVET_CONFIG(QuestionAnsweringConfig, trivet::InputConfig,
              (files, "SQuAD's JSON files (plain, gzip or zstd) and patterns (*, ?, [a-z]).",
               required),
              (tokenizer, "Tokenizer of the texts. Default: that of the task."),
              (seq_len, "Positions in a row.", required, at_least(1)),
              (doc_stride, "Tokens between the starts of two windows of a context.", at_least(1)),
              (max_query_length, "Most tokens of a question; longer ones are cut.", at_least(1)),
              (version_2, "Accepts questions without an answer, as SQuAD 2.0 has them."),
              (cls_id, "Id that a row starts with; unset: the tokenizer's \"[CLS]\", else its BOS.",
               at_least(0)),
              (sep_id, "Id that ends a text; unset: the tokenizer's \"[SEP]\", else its EOS.",
               at_least(0)),
              (limit, "Most bytes of text.", at_least(1)))

}  // namespace trivet::data
