// SPDX-License-Identifier: Apache-2.0
// Reading SQuAD's files, and the messages about mistakes in them.
#include "data/answers/squad_file.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/shell.h"
#include "trivet/error.h"

namespace squad_file_test {

using namespace trivet;
using namespace trivet::data;
using Catch::Contains;

namespace {

std::string file_of(const std::string& questions, const std::string& context = "Ärzte heilen.") {
  return R"({"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": ")" + context +
         R"(", "qas": [)" + questions + "]}]}]}";
}

std::string question(const std::string& id, const std::string& more) {
  return R"({"id": ")" + id + R"(", "question": "Wer?", )" + more + "}";
}

constexpr SquadRules kVersion2 = {.version_2 = true, .limit = 10000};
constexpr SquadRules kEvaluation = {.needs_answers = false, .limit = 10000};

const std::string kDoctors = question("a", R"("answers": [{"text": "Ärzte", "answer_start": 0},
                                 {"text": "heilen", "answer_start": 6}])");

struct Squad {
  std::vector<SquadQuestion> read(const std::string& text,
                                  const SquadRules& rules = {.limit = 10000}) const {
    return read_squad({dir.write("squad.json", text).string()}, rules);
  }
  std::string refused(const std::string& text, const SquadRules& rules = {.limit = 10000}) const {
    try {
      read(text, rules);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
  test::TempDir dir;
};

}  // namespace

TEST_CASE("questions are read with their answers, which are found by characters",
          "[data-answers]") {
  const Squad squad;
  const auto all = squad.read(file_of(kDoctors));
  REQUIRE(all.size() == 1);
  CHECK(all[0].id == "a");
  CHECK(all[0].text == "Wer?");
  CHECK(*all[0].context == "Ärzte heilen.");
  REQUIRE(all[0].answers.size() == 2);
  CHECK(all[0].answers[0].begin == 0);
  CHECK(all[0].answers[1].text == "heilen");
  CHECK(all[0].answers[1].begin == 7);  // the umlaut has two bytes
  CHECK_THAT(all[0].location, Contains("squad.json: data[0].paragraphs[0].qas[0] (a)"));
}

TEST_CASE("questions without answers need version 2", "[data-answers]") {
  const Squad squad;
  const std::string none =
      file_of(question("b", R"("answers": [], "is_impossible": true)") + "," +
              question("c", R"("is_impossible": true, "plausible_answers": [])"));
  const auto all = squad.read(none, kVersion2);
  REQUIRE(all.size() == 2);
  CHECK(all[0].answers.empty());
  CHECK_THAT(squad.refused(none),
             Contains("qas[0] (b): the question has no answer") && Contains("version_2 = true"));
  const std::string open = file_of(question("b", R"("answers": [])"));
  CHECK_THAT(squad.refused(open), Contains("version_2 = true"));
  CHECK_THAT(squad.refused(open, kVersion2), Contains("is_impossible does not say so"));
  const std::string both =
      file_of(question("b", R"("answers": [{"text": "heilen", "answer_start": 6}],
                               "is_impossible": true)"));
  CHECK_THAT(squad.refused(both, kVersion2),
             Contains("(b): is_impossible is true, but there is an answer"));
  const std::string neither = file_of(question("b", R"("answers": [], "is_impossible": 1)"));
  CHECK_THAT(squad.refused(neither, kVersion2), Contains("neither true nor false"));
}

TEST_CASE("answers may be missing outside training, from all questions", "[data-answers]") {
  const Squad squad;
  const std::string open = question("b", R"("title": "")");
  const auto all =
      squad.read(file_of(open + "," + question("c", R"("answers": null)")), kEvaluation);
  REQUIRE(all.size() == 2);
  CHECK_FALSE(all[0].labeled);
  CHECK_FALSE(all[1].labeled);
  CHECK(squad.read(file_of(kDoctors), kEvaluation)[0].labeled);
  CHECK_THAT(squad.refused(file_of(open)),
             Contains("qas[0] (b): has no \"answers\"") && Contains("training needs them"));
  CHECK_THAT(squad.refused(file_of(kDoctors + "," + open), kEvaluation),
             Contains("(b): has no \"answers\", but the questions before it do"));
  CHECK_THAT(squad.refused(file_of(open + "," + kDoctors), kEvaluation),
             Contains("(a): has \"answers\", but the questions before it do not"));
}

TEST_CASE("a message about a file of questions has the place of the mistake", "[data-answers]") {
  const Squad squad;
  const auto place = [](const std::string& at) {
    return Contains("squad.json: data[0].paragraphs[0]" + at);
  };
  CHECK_THAT(squad.refused(""), Contains("squad.json"));
  CHECK_THAT(squad.refused(file_of(kDoctors).substr(0, 60)), Contains("squad.json"));
  CHECK_THAT(squad.refused("[1]"), Contains("squad.json: : is not a JSON object") ||
                                       Contains("squad.json: is not a JSON object"));
  CHECK_THAT(squad.refused("{}"), Contains("has no \"data\""));
  CHECK_THAT(squad.refused(R"({"data": []})"), Contains("squad.json: has no question"));
  CHECK_THAT(squad.refused(file_of("")), Contains("squad.json: has no question"));
  CHECK_THAT(squad.refused(R"({"data": [1]})"), Contains("data[0]: is not a JSON object"));
  CHECK_THAT(squad.refused(R"({"data": [{"paragraphs": [{"context": 3, "qas": []}]}]})"),
             place(".context: is not a text"));
  CHECK_THAT(squad.refused(file_of(R"({"id": "1"})")),
             place(".qas[0]: has no \"question\"") || place(".qas[0] (1): has no"));
  CHECK_THAT(squad.refused(file_of(question("1\\u0000", R"("answers": [])"))),
             Contains("the id has a zero byte"));
  CHECK_THAT(squad.refused(R"({"data": 3})"), Contains("data: is not a list"));
  CHECK_THAT(squad.refused(R"({"data": [{}]})"), Contains("data[0]: has no \"paragraphs\""));
  CHECK_THAT(squad.refused("{\"data\": \"\xff\"}"), Contains("byte 10 is not UTF-8"));
  CHECK_THAT(squad.refused(file_of(question("a", R"("answers": [{"text": "heilen",
                                                     "answer_start": 5}])"))),
             place(".qas[0] (a).answers[0]: the context does not have 'heilen' at character 5"));
  CHECK_THAT(squad.refused(file_of(question("a", R"("answers": [{"text": "heilen",
                                                     "answer_start": 99}])"))),
             Contains("at character 99"));
  CHECK_THAT(squad.refused(file_of(question("a", R"("answers": [{"text": "heilen",
                                                     "answer_start": -1}])"))),
             Contains("answer_start: is not a number of at least 0"));
  CHECK_THAT(squad.refused(file_of(question("a", R"("answers": [{"text": "",
                                                     "answer_start": 0}])"))),
             Contains("the answer is empty"));
  CHECK_THAT(squad.refused(file_of(question("a", R"("answers": [{"text": "h\u0000",
                                                     "answer_start": 6}])"),
                                   "Ärzte h\\u0000ilen.")),
             Contains("the answer has a zero byte"));
  CHECK_THAT(squad.refused(file_of(kDoctors + "," + kDoctors)),
             place(".qas[1] (a): the question at ") &&
                 Contains("paragraphs[0].qas[0] (a) has the same id"));
  CHECK_THROWS_WITH(squad.read(file_of(kDoctors), {.limit = 20}), Contains("more than limit = 20"));
}

}  // namespace squad_file_test
