// SPDX-License-Identifier: Apache-2.0
// data/QuestionAnswering: windows and rows, computed by hand; sequences.h describes their notation.
#include "data/answers/question_answering_input.h"

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
  data::QuestionAnsweringInput input(const std::string& examples = {}) const {
    InputContext context{
        .phase = Phase::evaluation, .name = "task.eval_input", .examples = examples};
    return {config, context};
  }
  std::string complaint() const {
    return input_error([&] { input().get_next(); });
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
}

TEST_CASE("tokens know the pieces of the context that they are of", "[data-answers]") {
  use_plugin("tokenizers");
  const auto bytes = make(ConfigOf<Tokenizer>("tokenizers/Bytes", Value::table()));
  const auto tokens = data::tokenize_context(*bytes, "ab, \tÄc", "here");
  CHECK(tokens.ids == Numbers{'a', 'b', ',', ' ', 0xC3, 0x84, 'c'});
  CHECK(tokens.begins == Numbers{0, 0, 2, 5, 5, 5, 5});
  CHECK(tokens.ends == Numbers{2, 2, 3, 8, 8, 8, 8});
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
  CHECK(numbers(batch, "question")[1] == 0);
  CHECK(row(numbers(batch, "token_begin"), 1) == Numbers{-1, -1, -1, 2, 3, 4, 5, -1});
  CHECK(row(numbers(batch, "token_end"), 1) == Numbers{-1, -1, -1, 3, 4, 5, 6, -1});
  // "=" has a right neighbor in the first window and no left one in the second; "/" the reverse.
  const std::vector<float> best = batch.at("best_context").to_host<float>();
  CHECK(std::vector<float>(best.begin(), best.begin() + 16) ==
        std::vector<float>{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0});
  const std::vector<std::uint8_t> context = batch.at("context").to_host<std::uint8_t>();
  CHECK(std::string(context.begin(), context.begin() + 6) == "+-=/*%");
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

TEST_CASE("questions to answer make one row each", "[data-answers]") {
  const Questions questions(squad("a", "x", R"("answers": [{"text": "a", "answer_start": 0}])"));
  const auto given = [&](const std::string& lines) {
    return questions.input(questions.dir.write("given.jsonl", lines).string());
  };
  auto input = given(R"({"context": "+-", "question": "x"})");
  const Batch batch = *input.get_next();
  CHECK(rows_of(batch).ids == Texts{"^x$+-$.."});
  CHECK_FALSE(batch.contains("start_positions"));
  CHECK_FALSE(batch.contains("answers"));
  auto lacks = given(R"({"context": "+-"})");
  CHECK_THAT(input_error([&] { lacks.get_next(); }), Contains("has no \"question\""));
  auto large = given(R"({"context": "+-=/*", "question": "x"})");
  CHECK_THAT(input_error([&] { large.get_next(); }),
             Contains("given.jsonl:1: the context has 5 tokens, and a row has room for 4"));
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
