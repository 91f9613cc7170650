// SPDX-License-Identifier: Apache-2.0
// trivet predict for texts: classes and numbers of sentences, and tags of words.
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace predict_text_test {

namespace test = trivet::test;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// "a" words are up, "b" words are down; `score` is their share.
std::vector<json> sentences(int first, int count) {
  std::vector<json> all;
  for (int i = first; i < first + count; ++i) {
    std::string text, tags;
    int ups = 0;
    const int words = 1 + i % 3;
    for (int word = 0; word < words; ++word) {
      const bool up = (i >> word) % 2 == 0;
      ups += up ? 1 : 0;
      text += std::string(word > 0 ? " " : "") + (up ? "aa" : "bb");
      tags += std::string(word > 0 ? " " : "") + (up ? "UP" : "DOWN");
    }
    all.push_back({{"text", text},
                   {"words", text},
                   {"tags", tags},
                   {"side", 2 * ups > words ? "up" : "down"},
                   {"score", static_cast<double>(ups) / words}});
  }
  return all;
}

std::string lines(const std::vector<json>& examples) {
  std::string text;
  for (const json& example : examples) text += example.dump() + "\n";
  return text;
}

fs::path config_with(const test::TempDir& temp, const std::string& task, const std::string& input) {
  const auto data = [&](const char* name, int first, int count) {
    return input + "seq_len = 16\nsource = { type = 'data/Jsonl', files = ['" +
           temp.write(name, lines(sentences(first, count))).string() + "'] }\n";
  };
  return temp.write("config.toml",
                    "seed = 1\n[runtime]\nthreads = 1\n[task]\n"
                    "tokenizer = { type = 'tokenizers/Bytes', bos = true, eos = true }\n" +
                        task + "[task.train_input]\nbatch_size = 16\nshuffle = true\n" +
                        data("train.jsonl", 0, 100) + "[task.eval_input]\nbatch_size = 8\n" +
                        data("dev.jsonl", 100, 20) +
                        "[trainer]\ntrain_steps = 30\nlearning_rate = 0.01\n"
                        "optimizer = 'optim/Adam'\n");
}

std::vector<json> predicted(const test::TempDir& temp, const std::string& more = {}) {
  const auto result =
      test::trivet("predict " + test::quoted((temp / "run").string()) + " --input " +
                   test::quoted((temp / "dev.jsonl").string()) + " " + more);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  std::vector<json> all;
  std::istringstream stream(result.output);
  for (std::string line; std::getline(stream, line);) all.push_back(json::parse(line));
  REQUIRE(all.size() == 20);
  CHECK(all[2].at("source") == (temp / "dev.jsonl").string() + ":3");
  return all;
}

json evaluated(const test::TempDir& temp, const fs::path& file) {
  const auto trained = test::run(file, temp / "run");
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  return test::records(temp / "run", "eval").back().at("values");
}

const std::string kModel = "model_dims = 16, num_layers = 1, num_heads = 2, max_seq_len = 16 }\n";

// On a mesh a meta device counts a step, whose batches need the columns of the loss.
void check_summary_on_mesh(const fs::path& config) {
  const auto seen =
      test::trivet("summary " + test::quoted(config.string()) + " mesh.ici_mesh_shape=[2,1,1]");
  INFO(seen.output);
  CHECK(seen.exit_code == 0);
  CHECK_THAT(seen.output, Contains("2 devices (replica 2, data 1, mdl 1) in 1 process"));
}

}  // namespace

TEST_CASE("predicted classes of sentences are those of the evaluation") {
  const test::TempDir temp;
  const fs::path file = config_with(
      temp, "type = 'lm/SentencePrediction'\nmodel = { type = 'lm/BertClassifier', " + kModel,
      "type = 'data/SentencePairs'\ntext_a = '{text}'\nlabel = '{side}'\n"
      "class_names = ['down', 'up']\n");
  const json values = evaluated(temp, file);
  check_summary_on_mesh(file);
  const auto examples = sentences(100, 20);
  double loss = 0;
  int right = 0;
  const auto all = predicted(temp);
  for (std::size_t i = 0; i < 20; ++i) {
    const std::string side = examples[i].at("side");
    loss -= std::log(all[i].at("probabilities").at(side).get<double>());
    right += all[i].at("class") == side ? 1 : 0;
  }
  CHECK(right / 20.0 == Approx(values.at("accuracy").get<double>()));
  CHECK(loss / 20 == Approx(values.at("validation_loss").get<double>()).epsilon(1e-4));

  // The file of the run's data may be gone, and examples need no label.
  fs::remove(temp / "train.jsonl");
  temp.write("dev.jsonl", "");
  const auto one =
      test::trivet("predict " + test::quoted((temp / "run").string()) + " --input - < " +
                   test::quoted(temp.write("one.jsonl", "{\"text\": \"aa bb\"}\n").string()));
  INFO(one.output);
  CHECK(one.exit_code == 0);
  CHECK_THAT(one.output, Contains("standard input:1"));
  const auto refused = [&](const std::string& line) {
    const auto result =
        test::trivet("predict " + test::quoted((temp / "run").string()) + " --input " +
                     test::quoted(temp.write("wrong.jsonl", line).string()));
    INFO(result.output);
    CHECK(result.exit_code == 2);
    return result.output;
  };
  CHECK_THAT(refused("{\"text\": \"aa\"}\n{\"txt\": \"aa\"}\n"), Contains("wrong.jsonl:2"));
  CHECK_THAT(refused("{\"text\": "), Contains("wrong.jsonl:1") && Contains("JSON object"));
  CHECK_THAT(refused("[1]\n"), Contains("is not a JSON object"));
  CHECK_THAT(refused("{\"text\": \"\"}\n"), Contains("does not make one row"));
}

TEST_CASE("predicted numbers of sentences are those of the evaluation") {
  const test::TempDir temp;
  const fs::path file =
      config_with(temp,
                  "type = 'lm/SentencePrediction'\nnum_classes = 1\n"
                  "model = { type = 'lm/BertClassifier', " +
                      kModel,
                  "type = 'data/SentencePairs'\ntext_a = '{text}'\nlabel = '{score}'\n"
                  "label_type = 'number'\n");
  const json values = evaluated(temp, file);
  check_summary_on_mesh(file);
  const auto examples = sentences(100, 20);
  double squares = 0;
  const auto all = predicted(temp, "--batch 3");
  for (std::size_t i = 0; i < 20; ++i) {
    const double error =
        all[i].at("prediction").get<double>() - examples[i].at("score").get<double>();
    squares += error * error;
  }
  CHECK(squares / 20 == Approx(values.at("mean_squared_error").get<double>()).epsilon(1e-3));
}

TEST_CASE("predicted tags of words are those of the evaluation") {
  const test::TempDir temp;
  const fs::path file =
      config_with(temp,
                  "type = 'lm/Tagging'\nclass_names = ['UP', 'DOWN']\n"
                  "model = { type = 'lm/BertTagger', " +
                      kModel,
                  "type = 'data/TaggedSequences'\nclass_names = '${task.class_names}'\n");
  const json values = evaluated(temp, file);
  check_summary_on_mesh(file);
  const auto examples = sentences(100, 20);
  int right = 0, count = 0;
  const auto all = predicted(temp);
  for (std::size_t i = 0; i < 20; ++i) {
    std::istringstream truth(examples[i].at("tags").get<std::string>());
    for (const auto& tag : all[i].at("tags")) {
      std::string expected;
      REQUIRE(truth >> expected);
      right += tag == expected ? 1 : 0;
      ++count;
    }
    std::string more;
    CHECK_FALSE(truth >> more);
  }
  CHECK(static_cast<double>(right) / count == Approx(values.at("accuracy").get<double>()));
}

}  // namespace predict_text_test
