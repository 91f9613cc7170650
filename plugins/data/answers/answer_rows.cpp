// SPDX-License-Identifier: Apache-2.0
#include "data/answers/answer_rows.h"

#include <algorithm>
#include <utility>

#include "data/tokens/tokenize.h"
#include "trivet/config/digest.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// The positions of an answer's first and last token in the context; -1 if it has none.
struct AnswerSpan {
  std::int64_t first = -1, last = -1;
};

AnswerSpan span_of(const SquadAnswer& answer, const ContextTokens& tokens) {
  const auto begin = static_cast<std::int64_t>(answer.begin);
  const auto end = begin + std::ssize(answer.text);
  AnswerSpan span;
  for (std::int64_t i = 0; i < std::ssize(tokens.ids); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (tokens.ends[at] <= begin || tokens.begins[at] >= end) continue;
    if (span.first < 0) span.first = i;
    span.last = i;
  }
  return span;
}

// One row of bytes for each text, with zeros after it.
template <class Text>
Tensor byte_rows(const std::vector<Text>& texts) {
  std::size_t longest = 1;
  for (const Text& text : texts) longest = std::max(longest, text.size());
  Tensor bytes = Tensor::host({std::ssize(texts), static_cast<std::int64_t>(longest)}, DType::u8);
  const auto byte = filled<std::uint8_t>(bytes, 0);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ranges::copy(texts[i], byte.begin() + static_cast<std::ptrdiff_t>(i * longest));
  }
  return bytes;
}

// A zero follows each answer.
std::string answer_bytes(const SquadQuestion& question) {
  std::string bytes;
  for (const SquadAnswer& answer : question.answers) bytes += answer.text + '\0';
  return question.answers.empty() ? std::string(1, '\0') : bytes;
}

// The bytes of a context that the tokens of a window are of.
std::string_view bytes_of(const std::string& context, const ContextTokens& tokens,
                          const ContextWindow& window) {
  if (window.length == 0) return {};
  const auto begin =
      static_cast<std::size_t>(tokens.begins[static_cast<std::size_t>(window.begin)]);
  const auto end = static_cast<std::size_t>(
      tokens.ends[static_cast<std::size_t>(window.begin + window.length - 1)]);
  return std::string_view(context).substr(begin, end - begin);
}

std::int32_t characters_in(std::string_view text) {
  return static_cast<std::int32_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// i32 [B], one for each row.
template <class Of>
Tensor number_rows(std::span<const SequenceDataset::Row> rows, const Of& of) {
  Tensor numbers = Tensor::host({std::ssize(rows)}, DType::i32);
  std::ranges::transform(
      rows, numbers.mutable_span<std::int32_t>().begin(),
      [&](const SequenceDataset::Row& row) { return static_cast<std::int32_t>(of(row.row)); });
  return numbers;
}

}  // namespace

std::optional<std::int64_t> AnswerRules::room(std::int64_t question_tokens) const {
  const std::int64_t special_tokens = (special.cls ? 1 : 0) + (special.sep ? 2 : 0);
  const std::int64_t room = seq_len - special_tokens - question_tokens;
  return room >= 1 ? std::optional(room) : std::nullopt;
}

std::shared_ptr<const ContextTokens> AnswerRows::tokens_of(
    const std::vector<SquadQuestion>& questions, const std::vector<Context>& before,
    const Tokenizer& tokenizer) {
  const SquadQuestion& question = questions[before.size()];
  if (!before.empty() && questions[before.size() - 1].context == question.context) {
    return before.back().tokens;
  }
  return std::make_shared<const ContextTokens>(
      tokenize_context(tokenizer, *question.context, question.location));
}

std::unique_ptr<AnswerRows> AnswerRows::make(std::vector<SquadQuestion> questions,
                                             const Tokenizer& tokenizer, AnswerRules rules) {
  auto store = std::make_shared<MemoryTokens>(tokenizer.vocabulary_size());
  std::vector<Context> contexts;
  std::vector<Window> windows;
  for (const SquadQuestion& question : questions) {
    std::vector<std::int32_t> asked = encode_checked(tokenizer, question.text, question.location);
    asked.resize(std::min(asked.size(), static_cast<std::size_t>(rules.max_query_length)));
    const auto room = rules.room(std::ssize(asked));
    if (!room) {
      throw InputError(question.location + ": the question leaves no room for its context",
                       {.hint = "make seq_len larger, or max_query_length smaller"});
    }
    const auto context_tokens = tokens_of(questions, contexts, tokenizer);
    const Context& context = contexts.emplace_back(Context{
        context_tokens, windows_of(std::ssize(context_tokens->ids), *room, rules.doc_stride)});
    const AnswerSpan span =
        question.answers.empty() ? AnswerSpan() : span_of(question.answers[0], *context_tokens);
    if (!question.answers.empty() && span.first < 0) {
      throw InputError(
          question.location + ": the answer '" + question.answers[0].text + "' has no token",
          {.hint = "the tokenizer drops it; correct the answer"});
    }
    std::vector<std::int32_t> front;
    if (rules.special.cls) front.push_back(*rules.special.cls);
    front.insert(front.end(), asked.begin(), asked.end());
    if (rules.special.sep) front.push_back(*rules.special.sep);
    const std::string_view text = *question.context;
    std::int32_t characters = 0;
    std::size_t counted = 0;  // the bytes that `characters` are
    for (std::int64_t w = 0; w < std::ssize(context.windows); ++w) {
      const auto [begin, length] = context.windows[static_cast<std::size_t>(w)];
      std::vector<std::int32_t> row = front;
      const auto first = context_tokens->ids.begin() + begin;
      row.insert(row.end(), first, first + length);
      if (rules.special.sep) row.push_back(*rules.special.sep);
      store->add(row, std::ssize(front));
      Window& window = windows.emplace_back();
      window.question = std::ssize(contexts) - 1;
      window.window = w;
      window.first = static_cast<std::int32_t>(front.size());
      if (length > 0) {
        const auto from =
            static_cast<std::size_t>(context_tokens->begins[static_cast<std::size_t>(begin)]);
        characters += characters_in(text.substr(counted, from - counted));
        counted = from;
      }
      window.characters = characters;
      if (span.first < begin || span.last >= begin + length) continue;
      window.start = window.first + static_cast<std::int32_t>(span.first - begin);
      window.end = window.first + static_cast<std::int32_t>(span.last - begin);
    }
  }
  return std::unique_ptr<AnswerRows>(new AnswerRows(
      std::move(store), std::move(questions), std::move(contexts), std::move(windows), rules));
}

AnswerRows::AnswerRows(std::shared_ptr<const TokenStore> tokens,
                       std::vector<SquadQuestion> questions, std::vector<Context> contexts,
                       std::vector<Window> windows, const AnswerRules& rules)
    : LabeledRows(std::move(tokens), rules.seq_len),
      questions_(std::move(questions)),
      contexts_(std::move(contexts)),
      windows_(std::move(windows)),
      rules_(rules) {}

std::int64_t AnswerRows::example(std::int64_t row) const {
  return windows_[static_cast<std::size_t>(row)].question;
}

Batch AnswerRows::batch(std::span<const Row> rows) {
  Batch batch = LabeledRows::batch(rows);
  Tensor types = Tensor::host({std::ssize(rows), seq_len()}, DType::i32);
  const auto type = filled<std::int32_t>(types, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Window& window = windows_[static_cast<std::size_t>(rows[i].row)];
    const auto length = static_cast<std::size_t>(tokens().length(rows[i].row));
    const std::size_t at = i * static_cast<std::size_t>(seq_len());
    const auto first = static_cast<std::size_t>(window.first);
    std::ranges::fill(type.subspan(at + first, length - first), 1);
  }
  const auto at = [&](std::int64_t row) { return windows_[static_cast<std::size_t>(row)]; };
  batch.set("token_type_ids", std::move(types));
  if (labeled()) {
    batch.set("start_positions", number_rows(rows, [&](auto row) { return at(row).start; }));
    batch.set("end_positions", number_rows(rows, [&](auto row) { return at(row).end; }));
  }
  batch.set("question", number_rows(rows, [&](auto row) { return at(row).question; }));
  batch.set("window", number_rows(rows, [&](auto row) { return at(row).window; }));
  batch.set("windows", number_rows(rows, [&](auto row) {
              return contexts_[static_cast<std::size_t>(at(row).question)].windows.size();
            }));
  batch.set("context_begin", number_rows(rows, [&](auto row) { return at(row).characters; }));
  add_context_fields(rows, batch);
  return batch;
}

void AnswerRows::add_context_fields(std::span<const Row> rows, Batch& batch) const {
  const Shape shape{std::ssize(rows), seq_len()};
  Tensor begins = Tensor::host(shape, DType::i32), ends = Tensor::host(shape, DType::i32),
         best = Tensor::host(shape);
  const auto begin = filled<std::int32_t>(begins, -1), end = filled<std::int32_t>(ends, -1);
  const auto is_best = filled<float>(best, 0);
  std::vector<std::string_view> contexts, ids;
  std::vector<std::string> answers;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Window& window = windows_[static_cast<std::size_t>(rows[i].row)];
    const auto number = static_cast<std::size_t>(window.question);
    const Context& context = contexts_[number];
    const ContextWindow& shown = context.windows[static_cast<std::size_t>(window.window)];
    const ContextTokens& tokens = *context.tokens;
    const std::int32_t base =
        shown.length > 0 ? tokens.begins[static_cast<std::size_t>(shown.begin)] : 0;
    const std::size_t at =
        i * static_cast<std::size_t>(seq_len()) + static_cast<std::size_t>(window.first);
    for (std::int64_t t = 0; t < shown.length; ++t) {
      const auto token = static_cast<std::size_t>(shown.begin + t);
      const std::size_t position = at + static_cast<std::size_t>(t);
      begin[position] = tokens.begins[token] - base;
      end[position] = tokens.ends[token] - base;
      const std::size_t best_of_token = best_window(context.windows, shown.begin + t);
      is_best[position] = std::cmp_equal(best_of_token, window.window) ? 1.0F : 0.0F;
    }
    contexts.push_back(bytes_of(*questions_[number].context, tokens, shown));
    ids.push_back(questions_[number].id);
    answers.push_back(answer_bytes(questions_[number]));
  }
  batch.set("token_begin", std::move(begins));
  batch.set("token_end", std::move(ends));
  batch.set("best_context", std::move(best));
  batch.set("context", byte_rows(contexts));
  batch.set("id", byte_rows(ids));
  if (labeled()) batch.set("answers", byte_rows(answers));
}

std::string AnswerRows::fingerprint() const {
  std::string labels;
  for (const Window& window : windows_) {
    labels += " " + std::to_string(window.start) + " " + std::to_string(window.end);
  }
  return digest(tokens().fingerprint() + " " + std::to_string(seq_len()) + labels);
}

}  // namespace trivet::data
