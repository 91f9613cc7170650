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

std::string feature_of(const SourceExample& example, std::string_view name) {
  for (const SourceExample::Feature& feature : example.features) {
    if (feature.name == name) return std::string(feature.text);
  }
  throw InputError(example.location + ": has no \"" + std::string(name) + "\"",
                   {.hint = "a line has \"context\" and \"question\""});
}

}  // namespace

struct QuestionAnsweringInput::Parts {
  Parts(const Config& from, const InputContext& context)
      : config(from),
        files(context.examples.empty() ? list_files(from.files) : std::vector<std::string>()),
        tokenizer(required_tokenizer(from.tokenizer, context)),
        vocabulary(checked_vocabulary(*tokenizer, context.name)) {
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
    const auto no_answers = config.version_2 ? NoAnswers::allowed : NoAnswers::refused;
    return AnswerRows::make(
        read_squad(files, no_answers, static_cast<std::uint64_t>(config.limit.count)), *tokenizer,
        rules);
  }

  std::unique_ptr<SequenceDataset> load(DataSource& examples) const {
    std::vector<SquadQuestion> questions;
    read_limited(examples, config.limit.count, [&](const SourceExample& example) {
      questions.push_back(
          {.id = {},
           .text = feature_of(example, "question"),
           .context = std::make_shared<const std::string>(feature_of(example, "context")),
           .answers = {},
           .location = example.location});
    });
    AnswerRules own = rules;
    own.labels = AnswerRules::Labels::none;
    check_one_window(questions);
    return AnswerRows::make(std::move(questions), *tokenizer, own);
  }

  // A prediction is of one row.
  void check_one_window(const std::vector<SquadQuestion>& questions) const {
    for (const SquadQuestion& question : questions) {
      const auto asked = std::ssize(encode_checked(*tokenizer, question.text, question.location));
      const auto room = rules.room(std::min<std::int64_t>(asked, rules.max_query_length));
      const auto tokens =
          std::ssize(tokenize_context(*tokenizer, *question.context, question.location).ids);
      if (!room || tokens <= *room) continue;
      throw InputError(question.location + ": the context has " + std::to_string(tokens) +
                           " tokens, and a row has room for " + std::to_string(*room),
                       {.hint = "cut the context, or set seq_len of the input higher"});
    }
  }

  Config config;
  std::vector<std::string> files;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int64_t vocabulary;
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
