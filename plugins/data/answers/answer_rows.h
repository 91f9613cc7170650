// SPDX-License-Identifier: Apache-2.0
// AnswerRows: the rows of questions with their contexts (question_answering_config.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/answers/context_windows.h"
#include "data/answers/squad_file.h"
#include "data/labeled/labeled_rows.h"

namespace trivet::data {

struct AnswerRules {
  std::int64_t seq_len = 0, doc_stride = 0, max_query_length = 0;
  TextSpecialTokens special;

  // Tokens of a context that fit into a row with a question of so many tokens; at least 1, or
  // nothing.
  std::optional<std::int64_t> room(std::int64_t question_tokens) const;
};

class AnswerRows final : public LabeledRows {
 public:
  // All questions are labeled, or none, and then batches have no labels. Throws InputError, with
  // the question's location, for rows without room for a context, and for an answer without tokens.
  static std::unique_ptr<AnswerRows> make(std::vector<SquadQuestion> questions,
                                          const Tokenizer& tokenizer, AnswerRules rules);

  std::int64_t example(std::int64_t row) const override;
  Batch batch(std::span<const Row> rows) override;
  std::string fingerprint() const override;

 private:
  struct Context {
    std::shared_ptr<const ContextTokens> tokens;  // neighbors of one context share them
    std::vector<ContextWindow> windows;
  };
  struct Window {
    std::int64_t question = 0, window = 0;
    std::int32_t first = 0;  // position of the first token of the context
    std::int32_t start = 0, end = 0;
    std::int32_t characters = 0;  // of the context, before the window
  };
  static std::shared_ptr<const ContextTokens> tokens_of(const std::vector<SquadQuestion>& questions,
                                                        const std::vector<Context>& before,
                                                        const Tokenizer& tokenizer);
  AnswerRows(std::shared_ptr<const TokenStore> tokens, std::vector<SquadQuestion> questions,
             std::vector<Context> contexts, std::vector<Window> windows, const AnswerRules& rules);
  void add_context_fields(std::span<const Row> rows, Batch& batch) const;
  bool labeled() const { return questions_.empty() || questions_.front().labeled; }

  std::vector<SquadQuestion> questions_;
  std::vector<Context> contexts_;  // one for each question
  std::vector<Window> windows_;    // one for each row
  AnswerRules rules_;
};

}  // namespace trivet::data
