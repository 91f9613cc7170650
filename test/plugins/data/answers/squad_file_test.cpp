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

const std::string kDoctors = question("a", R"("answers": [{"text": "Ärzte", "answer_start": 0},
                                 {"text": "heilen", "answer_start": 6}])");

struct Squad {
  std::vector<SquadQuestion> read(const std::string& text,
                                  NoAnswers no_answers = NoAnswers::refused,
                                  std::uint64_t limit = 10000) const {
    return read_squad({dir.write("squad.json", text).string()}, no_answers, limit);
  }
  std::string refused(const std::string& text, NoAnswers no_answers = NoAnswers::refused) const {
    try {
      read(text, no_answers);
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
  const auto all = squad.read(none, NoAnswers::allowed);
  REQUIRE(all.size() == 2);
  CHECK(all[0].answers.empty());
  CHECK_THAT(squad.refused(none),
             Contains("qas[0] (b): the question has no answer") && Contains("version_2 = true"));
  const std::string open = file_of(question("b", R"("answers": [])"));
  CHECK_THAT(squad.refused(open), Contains("version_2 = true"));
  CHECK_THAT(squad.refused(open, NoAnswers::allowed), Contains("is_impossible does not say so"));
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
             place(".qas[1] (a): another question has this id"));
  CHECK_THROWS_WITH(squad.read(file_of(kDoctors), NoAnswers::refused, 20),
                    Contains("more than limit = 20"));
}

}  // namespace squad_file_test
