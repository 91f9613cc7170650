// SPDX-License-Identifier: Apache-2.0
// data/QuestionAnswering: questions with answers in a context.
#pragma once

#include "data/answers/question_answering_config.h"
#include "data/sequences/rows_input.h"

namespace trivet::data {

class QuestionAnsweringInput final : public RowsInput {
 public:
  using Config = QuestionAnsweringConfig;
  QuestionAnsweringInput(const Config& config, InputContext& context);

 private:
  struct Parts;
  QuestionAnsweringInput(const Config& config, InputContext& context, const Parts& parts);
};

}  // namespace trivet::data
