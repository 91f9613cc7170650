// SPDX-License-Identifier: Apache-2.0
// data/QuestionAnswering: windows and rows, computed by hand; sequences.h describes their notation.
#include "data/answers/question_answering_input.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "data/answers/context_windows.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"

namespace question_answering_input_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using data::ContextWindow;
using Numbers = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;

namespace {

std::string squad(const std::string& context, const std::string& question,
                  const std::string& answers) {
  return R"({"data": [{"paragraphs": [{"context": ")" + context +
         R"(", "qas": [{"id": "q", "question": ")" + question + R"(", )" + answers + "}]}]}]}";
}

struct Questions {
  explicit Questions(const std::string& text) {
    config.files = {dir.write("squad.json", text).string()};
    config.tokenizer = letters();
    config.seq_len = 8;
    config.doc_stride = 2;
    config.batch_size = 4;
  }
  data::QuestionAnsweringInput input(const std::string& examples = {},
                                     Phase phase = Phase::evaluation) const {
    InputContext context{.phase = phase, .name = "task.eval_input", .examples = examples};
    return {config, context};
  }
  data::QuestionAnsweringInput given(const std::string& lines) const {
    return input(dir.write("given.jsonl", lines).string());
  }
  std::string complaint(Phase phase = Phase::evaluation) const {
    return input_error([&] { input({}, phase).get_next(); });
  }
  TempDir dir;
  data::QuestionAnsweringConfig config;
};

Numbers numbers(const Batch& batch, const char* field) {
  return batch.at(field).to_host<std::int32_t>();
}

Numbers row(const Numbers& all, std::size_t i, std::size_t width = 8) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * width);
  return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

Texts texts(const Batch& batch, const char* field) {
  const auto bytes = batch.at(field).to_host<std::uint8_t>();
  const auto width = static_cast<std::size_t>(batch.at(field).dim(1));
  Texts all;
  for (std::size_t at = 0; at < bytes.size(); at += width) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    all.emplace_back(begin, std::find(begin, begin + static_cast<std::ptrdiff_t>(width), 0));
  }
  return all;
}

Texts lines_of(const data::QuestionAnsweringInput& input) {
  Texts all;
  for (const std::string& location : input.locations()) {
    all.push_back(location.substr(location.rfind('/') + 1));
  }
  return all;
}

}  // namespace

TEST_CASE("windows of a context overlap by the stride", "[data-answers]") {
  CHECK(data::windows_of(3, 4, 2) == std::vector<ContextWindow>{{0, 3}});
  CHECK(data::windows_of(4, 4, 2) == std::vector<ContextWindow>{{0, 4}});
  CHECK(data::windows_of(7, 4, 2) == std::vector<ContextWindow>{{0, 4}, {2, 4}, {4, 3}});
  CHECK(data::windows_of(7, 3, 9) == std::vector<ContextWindow>{{0, 3}, {3, 3}, {6, 1}});
  CHECK(data::windows_of(0, 4, 2) == std::vector<ContextWindow>{{0, 0}});
  // Token 3 has 0 to its right in the first window, 1 to its left in the second; token 2 has one
  // to its right in the first, none to its left in the second.
  const std::vector<ContextWindow> windows = {{0, 4}, {2, 4}, {4, 3}};
  CHECK(data::best_window(windows, 2) == 0);
  CHECK(data::best_window(windows, 3) == 1);
  CHECK(data::best_window(windows, 4) == 1);
  CHECK(data::best_window(windows, 6) == 2);
  // Where both margins are equal, as those of token 5 with 1 and 1, the longer window wins.
  CHECK(data::best_window({{0, 4}, {2, 5}, {4, 3}}, 5) == 1);
}

TEST_CASE("tokens know the pieces of the context that they are of", "[data-answers]") {
  use_plugin("tokenizers");
  const auto bytes = make(ConfigOf<Tokenizer>("tokenizers/Bytes", Value::table()));
  const auto tokens = data::tokenize_context(*bytes, "ab, \tÄc", "here");
  CHECK(tokens.ids == Numbers{'a', 'b', ',', ' ', 0xC3, 0x84, 'c'});
  CHECK(tokens.begins == Numbers{0, 0, 2, 5, 5, 5, 5});
  CHECK(tokens.ends == Numbers{2, 2, 3, 8, 8, 8, 8});
  // White space is in front of the first piece, too.
  CHECK(data::tokenize_context(*bytes, " a\u3000b", "here").ids == Numbers{' ', 'a', ' ', 'b'});
}

TEST_CASE("a context that is too long has several rows", "[data-answers]") {
  // Room for 8 - 3 - 1 tokens of the context, whose characters are a piece each.
  Questions questions(squad("+-=/*%", "x", R"("answers": [{"text": "/*", "answer_start": 3}])"));
  questions.config.batch_size = 2;
  auto input = questions.input();
  const Batch batch = *input.get_next();
  CHECK(rows_of(batch).ids == Texts{"^x$+-=/$", "^x$=/*%$"});
  CHECK(row(numbers(batch, "token_type_ids"), 0) == Numbers{0, 0, 0, 1, 1, 1, 1, 1});
  // The first window lacks the "*": its answer is at [CLS].
  CHECK(numbers(batch, "start_positions")[0] == 0);
  CHECK(numbers(batch, "end_positions")[0] == 0);
  CHECK(numbers(batch, "start_positions")[1] == 4);
  CHECK(numbers(batch, "end_positions")[1] == 5);
  CHECK(numbers(batch, "question") == Numbers{0, 0});
  CHECK(numbers(batch, "window") == Numbers{0, 1});
  CHECK(numbers(batch, "windows") == Numbers{2, 2});
  CHECK(texts(batch, "id") == Texts{"q", "q"});
  CHECK(row(numbers(batch, "token_begin"), 1) == Numbers{-1, -1, -1, 0, 1, 2, 3, -1});
  CHECK(row(numbers(batch, "token_end"), 1) == Numbers{-1, -1, -1, 1, 2, 3, 4, -1});
  // "=" has a right neighbor in the first window and no left one in the second; "/" the reverse.
  const std::vector<float> best = batch.at("best_context").to_host<float>();
  CHECK(std::vector<float>(best.begin(), best.begin() + 16) ==
        std::vector<float>{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0});
  CHECK(texts(batch, "context") == Texts{"+-=/", "=/*%"});
  CHECK(numbers(batch, "context_begin") == Numbers{0, 2});
  const std::vector<std::uint8_t> answers = batch.at("answers").to_host<std::uint8_t>();
  CHECK(std::string(answers.begin(), answers.begin() + 3) == std::string("/*\0", 3));
}

TEST_CASE("questions are cut, and those without answers point at the start", "[data-answers]") {
  Questions questions(squad("a", "xyzxyz", R"("answers": [], "is_impossible": true)"));
  questions.config.max_query_length = 2;
  questions.config.version_2 = true;
  questions.config.batch_size = 1;
  auto input = questions.input();
  const Batch batch = *input.get_next();
  CHECK(rows_of(batch).ids == Texts{"^xy$a$.."});
  CHECK(numbers(batch, "start_positions") == Numbers{0});
  CHECK(batch.at("answers").to_host<std::uint8_t>() == std::vector<std::uint8_t>{0});
}

TEST_CASE("an answer starts within a run of ideographs and beside a quote", "[data-answers]") {
  use_plugin("tokenizers");
  const std::string context = "\u5317\u4EAC\u5E02 \u201Cx\u201D";
  Questions questions(squad(context, "x", R"("answers": [{"text": "\u4EAC", "answer_start": 1}])"));
  questions.config.tokenizer = ConfigOf<Tokenizer>(
      "tokenizers/Bytes", Value::table({{"bos", true}, {"eos", true}, {"pad", true}}));
  questions.config.seq_len = 16;
  questions.config.doc_stride = 5;
  questions.config.batch_size = 1;
  auto input = questions.input();
  const Batch first = *input.get_next();
  // [CLS], "x", [SEP], and three bytes of each ideograph.
  CHECK(numbers(first, "start_positions") == Numbers{6});
  CHECK(numbers(first, "end_positions") == Numbers{8});
  // The second window begins within the second ideograph, whose piece is shown whole.
  const Batch second = *input.get_next();
  CHECK(texts(second, "context") == Texts{"\u4EAC\u5E02 \u201Cx\u201D"});
  CHECK(numbers(second, "context_begin") == Numbers{1});
  CHECK(numbers(second, "start_positions") == Numbers{0});
  Questions quoted(squad(context, "x", R"("answers": [{"text": "x", "answer_start": 5}])"));
  quoted.config.tokenizer = questions.config.tokenizer;
  quoted.config.seq_len = 32;
  auto whole = quoted.input();
  const Batch batch = *whole.get_next();
  // 9 bytes of ideographs and 4 of the quote with its blank after the first three positions.
  CHECK(numbers(batch, "start_positions")[0] == 16);
  CHECK(numbers(batch, "end_positions")[0] == 16);
}

TEST_CASE("questions of one context share its tokens", "[data-answers]") {
  const Questions questions(
      R"({"data": [{"paragraphs": [{"context": "a+b", "qas": [
      {"id": "1", "question": "x", "answers": [{"text": "a", "answer_start": 0}]},
      {"id": "2", "question": "xy", "answers": [{"text": "b", "answer_start": 2}]}]},
      {"context": "+c", "qas": [
      {"id": "3", "question": "z", "answers": [{"text": "c", "answer_start": 1}]}]}]}]})");
  auto input = questions.input();
  const Batch batch = *input.get_next();
  CHECK(rows_of(batch).ids == Texts{"^x$a+b$.", "^xy$a+b$", "^z$+c$..", "^x$a+b$."});
  CHECK(numbers(batch, "start_positions") == Numbers{3, 6, 4, 3});
  CHECK(texts(batch, "context") == Texts{"a+b", "a+b", "+c", "a+b"});
  CHECK(texts(batch, "id") == Texts{"1", "2", "3", "1"});
}

TEST_CASE("examples to predict give all of their windows", "[data-answers]") {
  Questions questions("");
  auto input = questions.given(R"({"context": "+-=/*%+", "question": "x"}

{"id": 7, "context": "", "question": "y"}
{"id": "z", "context": "a", "question": "z"}
)");
  const Batch batch = *input.get_next();
  CHECK(rows_of(batch).ids == Texts{"^x$+-=/$", "^x$=/*%$", "^x$*%+$.", "^y$$...."});
  CHECK(lines_of(input) ==
        Texts{"given.jsonl:1", "given.jsonl:1", "given.jsonl:1", "given.jsonl:3"});
  CHECK(texts(batch, "id") == Texts{"", "", "", "7"});
  CHECK(numbers(batch, "windows") == Numbers{3, 3, 3, 1});
  CHECK_FALSE(batch.contains("start_positions"));
  CHECK_FALSE(batch.contains("answers"));
  CHECK(rows_of(*input.get_next()).ids == Texts{"^z$a$..."});
  CHECK(lines_of(input) == Texts{"given.jsonl:4"});
  CHECK_FALSE(input.get_next());

  // A batch may end within an example.
  questions.config.batch_size = 2;
  auto small = questions.given(R"({"context": "+-=/*%+", "question": "x"}
{"context": "a", "question": "y"}
)");
  CHECK(rows_of(*small.get_next()).ids == Texts{"^x$+-=/$", "^x$=/*%$"});
  const Batch second = *small.get_next();
  CHECK(rows_of(second).ids == Texts{"^x$*%+$.", "^y$a$..."});
  CHECK(numbers(second, "window") == Numbers{2, 0});
  CHECK(lines_of(small) == Texts{"given.jsonl:1", "given.jsonl:2"});
  CHECK_FALSE(small.get_next());
}

TEST_CASE("examples to predict need a question and a context", "[data-answers]") {
  const Questions questions("");
  const auto complaint = [&](const std::string& lines) {
    auto input = questions.given(lines);
    return input_error([&] { input.get_next(); });
  };
  CHECK_THAT(complaint(R"({"context": "+-"})"), Contains("given.jsonl:1: has no \"question\""));
  CHECK_THAT(complaint(R"({"question": "x"})"), Contains("has no \"context\""));
  CHECK_THAT(complaint(R"({"context": "a", "question": "x", "id": "1\u0000"})"),
             Contains("given.jsonl:1: the id has a zero byte"));
  CHECK_THAT(complaint(R"({"context": "a", "question": "x"}
{"context": "a", "question": "xyzxyz"}
)"),
             Contains("given.jsonl:2: the question leaves no room"));
}

TEST_CASE("only training needs answers", "[data-answers]") {
  const Questions questions(squad("a", "x", R"("title": "")"));
  CHECK_THAT(questions.complaint(Phase::training),
             Contains("(q): has no \"answers\"") && Contains("training needs them"));
  auto input = questions.input();
  const Batch batch = *input.get_next();
  CHECK(rows_of(batch).ids[0] == "^x$a$...");
  CHECK_FALSE(batch.contains("end_positions"));
  CHECK_FALSE(batch.contains("answers"));
}

TEST_CASE("an answer without tokens is refused", "[data-answers]") {
  const Questions questions(squad("a b", "x", R"("answers": [{"text": " ", "answer_start": 1}])"));
  CHECK_THAT(questions.complaint(), Contains("(q): the answer ' ' has no token"));
}

TEST_CASE("rows without room for a question and a context are refused", "[data-answers]") {
  Questions questions(squad("a", "xyzxy", R"("answers": [{"text": "a", "answer_start": 0}])"));
  CHECK_THAT(questions.complaint(), Contains("(q): the question leaves no room"));
  questions.config.seq_len = 4;
  CHECK_THAT(questions.complaint(), Contains("task.eval_input.seq_len: is 4"));
}

}  // namespace question_answering_input_test
