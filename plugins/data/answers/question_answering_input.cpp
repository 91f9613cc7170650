// SPDX-License-Identifier: Apache-2.0
#include "data/answers/question_answering_input.h"

#include <utility>

#include "data/answers/answer_rows.h"
#include "data/answers/squad_file.h"
#include "data/formats/file_list.h"
#include "data/tokens/special_tokens.h"
#include "data/tokens/tokenize.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// The fields that text_special_tokens reads.
EncoderRowsConfig special_fields_of(const QuestionAnsweringConfig& config) {
  EncoderRowsConfig fields;
  fields.cls_id = config.cls_id;
  fields.sep_id = config.sep_id;
  return fields;
}

std::optional<std::string> feature_of(const SourceExample& example, std::string_view name) {
  for (const SourceExample::Feature& feature : example.features) {
    if (feature.name == name) return std::string(feature.text);
  }
  return std::nullopt;
}

std::string required_of(const SourceExample& example, std::string_view name) {
  if (auto found = feature_of(example, name)) return *found;
  throw InputError(example.location + ": has no \"" + std::string(name) + "\"",
                   {.hint = "a line has \"context\" and \"question\""});
}

SquadQuestion question_of(const SourceExample& example) {
  SquadQuestion question{
      .id = feature_of(example, "id").value_or(""),
      .text = required_of(example, "question"),
      .context = std::make_shared<const std::string>(required_of(example, "context")),
      .answers = {},
      .labeled = false,
      .location = example.location};
  if (question.id.find('\0') != std::string::npos) {
    throw InputError(example.location + ": the id has a zero byte");
  }
  return question;
}

}  // namespace

struct QuestionAnsweringInput::Parts {
  Parts(const Config& from, const InputContext& context)
      : config(from),
        files(context.examples.empty() ? list_files(from.files) : std::vector<std::string>()),
        tokenizer(required_tokenizer(from.tokenizer, context)),
        vocabulary(checked_vocabulary(*tokenizer, context.name)),
        file_rules{.version_2 = from.version_2,
                   .needs_answers = context.phase == Phase::training,
                   .limit = static_cast<std::uint64_t>(from.limit.count)} {
    rules.seq_len = from.seq_len;
    rules.doc_stride = from.doc_stride;
    rules.max_query_length = from.max_query_length;
    rules.special = text_special_tokens(special_fields_of(from), *tokenizer, context.name);
    if (!rules.special.cls) {
      throw InputError(context.name + ".cls_id: no token to start a row with",
                       {.hint = "set cls_id, or give the tokenizer a BOS: an answer that is not in "
                                "a window is at its first position"});
    }
    if (!rules.room(1)) {
      throw InputError(context.name + ".seq_len: is " + std::to_string(from.seq_len) +
                           ", which leaves no room for a question and its context",
                       {.hint = "make it larger"});
    }
  }

  std::unique_ptr<SequenceDataset> load() const {
    return AnswerRows::make(read_squad(files, file_rules), *tokenizer, rules);
  }

  std::unique_ptr<SequenceDataset> load(DataSource& examples) const {
    std::vector<SquadQuestion> questions;
    read_limited(examples, config.limit.count,
                 [&](const SourceExample& example) { questions.push_back(question_of(example)); });
    return AnswerRows::make(std::move(questions), *tokenizer, rules);
  }

  Config config;
  std::vector<std::string> files;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int64_t vocabulary;
  SquadRules file_rules;
  AnswerRules rules;
};

QuestionAnsweringInput::QuestionAnsweringInput(const Config& config, InputContext& context)
    : QuestionAnsweringInput(config, context, Parts(config, context)) {}

QuestionAnsweringInput::QuestionAnsweringInput(const Config& config, InputContext& context,
                                               const Parts& parts)
    : RowsInput(
          config, context, parts.files.empty() ? "the examples" : summary_of(parts.files),
          encoder_sides(parts.tokenizer, parts.vocabulary), [parts] { return parts.load(); },
          [parts](DataSource& examples) { return parts.load(examples); }) {}

}  // namespace trivet::data
