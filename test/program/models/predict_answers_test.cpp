// SPDX-License-Identifier: Apache-2.0
// Answers to questions about contexts that need several rows, from the user's view: the outputs of
// evaluations, programs that infer and `trivet predict` say the same.
#include <cctype>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/shell.h"

namespace predict_answers_test {
namespace {

using namespace trivet::test;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

// Rows of 64 bytes, so that contexts have several windows, some in two batches.
const std::string kSmallRows =
    "runtime.threads=1 trainer.train_steps=60 trainer.validation_interval=0 "
    "task.eval_input.seq_len=64 task.eval_input.doc_stride=16 task.eval_input.batch_size=7 ";

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

json people() {
  return json::parse(read_file(source_root() / "configs/lm/data/people_eval.json"));
}

// normalize_answer of the official scripts, for ASCII.
std::string normalized(const std::string& answer) {
  std::string plain;
  for (const char c : answer) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::ispunct(byte) == 0) plain += static_cast<char>(std::tolower(byte));
  }
  std::istringstream words(plain);
  std::string text;
  for (std::string word; words >> word;) {
    if (word != "a" && word != "an" && word != "the") text += word + " ";
  }
  return text;
}

fs::path config_with_outputs(const TempDir& temp, const std::string& more = {}) {
  return temp.write("config.toml", "base = ['" + config("lm/answers.toml").string() + R"(']
[[task.eval_inputs]]
name = "held"
outputs = true
input = "${task.eval_input}"
)" + more);
}

// Their outputs by id.
std::map<std::string, json> by_id(const fs::path& outputs) {
  std::map<std::string, json> all;
  for (const json& line : lines_of(read_file(outputs))) {
    const bool is_new = all.emplace(line.at("id"), line).second;
    CHECK(is_new);
  }
  return all;
}

// Whether both have one answer; their scores are the same in any case. Other batches add up in
// another order, which may decide between two answers of one score.
bool have_same(const json& one, const json& other) {
  CHECK(one.at("id") == other.at("id"));
  for (const char* column : {"score", "null_score"}) {
    CHECK(one.at(column).get<double>() ==
          Approx(other.at(column).get<double>()).epsilon(1e-4).margin(1e-4));
  }
  return one.at("answer") == other.at("answer") && one.at("start") == other.at("start") &&
         one.at("end") == other.at("end");
}

}  // namespace

TEST_CASE("predicted answers of several windows are those that the evaluation scores", "[slow]") {
  const TempDir temp;
  const fs::path file = config_with_outputs(temp);
  const auto trained = run(file, temp / "run", kSmallRows);
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  const json values = records(temp / "run", "eval").back().at("values");
  const auto outputs = by_id(temp / "run/eval_inputs/held/outputs_step_60.jsonl");

  std::vector<std::string> ids;
  std::string examples;
  double equal = 0;
  json open = people();
  for (json& paragraph : open.at("data").at(0).at("paragraphs")) {
    const std::string context = paragraph.at("context");
    for (json& question : paragraph.at("qas")) {
      ids.push_back(question.at("id"));
      examples += json{{"id", question.at("id")},
                       {"context", context},
                       {"question", question.at("question")}}
                      .dump() +
                  "\n";
      const json& output = outputs.at(ids.back());
      const std::string answer = output.at("answer"),
                        right = question.at("answers").at(0).at("text");
      equal += normalized(answer) == normalized(right) ? 1 : 0;
      const std::size_t start = output.at("start"), end = output.at("end");
      CHECK(context.substr(start, end - start) == answer);
      question.erase("answers");
    }
  }
  const auto questions = static_cast<double>(ids.size());
  REQUIRE(outputs.size() == ids.size());
  // An output has the number of the question's last row.
  CHECK(outputs.at(ids.back()).at("example").get<double>() > 1.5 * questions);
  CHECK(equal > 0);
  CHECK(values.at("exact_match").get<double>() == Approx(100 * equal / questions));

  const fs::path lines = temp.write("questions.jsonl", examples);
  for (const char* batch : {"1", "3", "1000"}) {
    const auto result =
        trivet::test::trivet("predict " + quoted((temp / "run").string()) + " --input " +
                             quoted(lines.string()) + " --batch " + batch);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    const std::vector<json> predicted = lines_of(result.output);
    REQUIRE(predicted.size() == ids.size());
    std::size_t same = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      CHECK(predicted[i].at("example") == i);
      CHECK_THAT(predicted[i].at("source").get<std::string>(),
                 Catch::EndsWith("questions.jsonl:" + std::to_string(i + 1)));
      CHECK(predicted[i].at("id") == ids[i]);
      same += have_same(predicted[i], outputs.at(ids[i])) ? 1 : 0;
    }
    CHECK(same >= ids.size() - ids.size() / 50);
  }

  // In a table, what is missing is an empty cell.
  const fs::path none = temp.write("none.jsonl", R"({"context": " ", "question": "Who?"}
)");
  const auto table = trivet::test::trivet("predict " + quoted((temp / "run").string()) +
                                          " --csv --input " + quoted(none.string()));
  CHECK_THAT(table.output, Catch::StartsWith("example,source,id,answer,start,end,score,"
                                             "null_score\n0,") &&
                               Contains("none.jsonl:1,,,,,,"));

  // A program that infers needs no answers, evaluations do.
  const fs::path unlabeled = temp.write("open.json", open.dump());
  const std::string of_open =
      kSmallRows + "'task.eval_input.files=[\"" + unlabeled.string() + "\"]' ";
  const auto inferred = run(file, temp / "run",
                            of_open +
                                "--mode infer "
                                "'task.eval_inputs=[]'");
  INFO(inferred.output);
  REQUIRE(inferred.exit_code == 0);
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(temp / "run/evals")) {
    if (entry.path().filename() == "outputs_step_60.jsonl") found.push_back(entry.path());
  }
  REQUIRE(found.size() == 1);
  const auto infers = by_id(found[0]);
  REQUIRE(infers.size() == ids.size());
  for (const std::string& id : ids) CHECK(have_same(infers.at(id), outputs.at(id)));
  const auto evaluated = run(file, temp / "run", of_open + "--mode eval");
  CHECK(evaluated.exit_code == 2);
  CHECK_THAT(evaluated.output, Contains("the data has no answers"));
}

TEST_CASE("a model of answers starts from a masked encoder", "[slow]") {
  const TempDir temp;
  const std::string few = "trainer.train_steps=2 runtime.threads=1 ";
  const auto masked = run(config("lm/masked.toml"), temp / "masked", few);
  INFO(masked.output);
  REQUIRE(masked.exit_code == 0);
  const auto tuned = run(config("lm/answers.toml"), temp / "run",
                         few + "task.init_load.partial=true task.init_checkpoint=" +
                             quoted((temp / "masked/checkpoints").string()));
  INFO(tuned.output);
  REQUIRE(tuned.exit_code == 0);
  // It has all weights but those of the token types, the positions and the head.
  CHECK_THAT(tuned.output, Contains("35 of 39 variables"));
  for (const char* name : {"token_type_emb/table", "position_emb/table", "span/w", "span/b"}) {
    CHECK_THAT(tuned.output, Contains(std::string("missing ") + name));
  }
}

TEST_CASE("data that answers cannot be learned from or written for is refused", "[slow]") {
  const TempDir temp;
  const auto refused = [&](const fs::path& file, const std::string& more) {
    const auto result = run(file, temp / "refused", kSmallRows + more);
    CHECK(result.exit_code == 2);
    return result.output;
  };
  const fs::path file = config_with_outputs(temp);
  CHECK_THAT(refused(file, "task.eval_input.shuffle=true trainer.train_steps=1"),
             Contains("do not follow each other") && Contains("shuffle = false"));
  json open = people();
  for (json& paragraph : open.at("data").at(0).at("paragraphs")) {
    for (json& question : paragraph.at("qas")) question.erase("answers");
  }
  const fs::path unlabeled = temp.write("open.json", open.dump());
  CHECK_THAT(refused(file, "'task.train_input.files=[\"" + unlabeled.string() + "\"]'"),
             Contains("open.json: data[0].paragraphs[0].qas[0] (e150-0): has no \"answers\""));
  CHECK_THAT(refused(file, "'task.train_input.files=[\"" +
                               temp.write("cut.json", open.dump().substr(0, 60)).string() + "\"]'"),
             Contains("cut.json"));
}

}  // namespace predict_answers_test
