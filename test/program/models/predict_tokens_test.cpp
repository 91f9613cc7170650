// SPDX-License-Identifier: Apache-2.0
// trivet predict for models of tokens: how likely texts are, the tokens of masks, and the targets
// of sources; and for one of several tasks.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/shell.h"

namespace predict_tokens_test {

namespace test = trivet::test;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kSizes = "model_dims = 16\nnum_layers = 1\nnum_heads = 2\nmax_seq_len = 16\n";

std::vector<json> parsed(const std::string& text) {
  std::vector<json> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(json::parse(line));
  return all;
}

// Words of "a" and "b", and which letter is more frequent.
std::vector<json> words(int first, int count) {
  std::vector<json> all;
  for (int i = first; i < first + count; ++i) {
    std::string word, turned;
    int ups = 0;
    for (int bit = 0; bit < 3 + i % 4; ++bit) {
      const bool is_up = (i >> bit) % 2 == 0;
      word += is_up ? 'a' : 'b';
      turned += is_up ? 'b' : 'a';
      ups += is_up ? 1 : -1;
    }
    all.push_back({{"text", word},
                   {"turned", turned},
                   {"more", ups > 0 ? "a" : "b"},
                   {"last", std::string(1, word.back())}});
  }
  return all;
}

std::string lines(const std::vector<json>& examples) {
  std::string text;
  for (const json& example : examples) text += example.dump() + "\n";
  return text;
}

std::string source_of(const test::TempDir& temp, const char* name, int first, int count) {
  return "source = { type = 'data/Jsonl', files = ['" +
         temp.write(name, lines(words(first, count))).string() + "'] }\n";
}

constexpr const char* kStart =
    "seed = 1\n[runtime]\nthreads = 1\n"
    "[trainer]\ntrain_steps = 30\nlearning_rate = 0.01\noptimizer = 'optim/Adam'\n[task]\n"
    "tokenizer = { type = 'tokenizers/Bytes', bos = true, eos = true, pad = true }\n";

// `input` has the fields of both inputs, without source and batch_size.
fs::path config_with(const test::TempDir& temp, const std::string& task, const std::string& input,
                     const std::string& evaluation = {}) {
  return temp.write("config.toml", kStart + task + "[task.train_input]\nbatch_size = 16\n" + input +
                                       source_of(temp, "train.jsonl", 0, 100) +
                                       "[task.eval_input]\nbatch_size = 8\n" + evaluation + input +
                                       source_of(temp, "dev.jsonl", 100, 20));
}

json evaluated(const test::TempDir& temp, const fs::path& file) {
  const auto trained = test::run(file, temp / "run");
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  return test::records(temp / "run", "eval").back().at("values");
}

test::ShellResult predict(const test::TempDir& temp, const fs::path& examples,
                          const std::string& more = {}) {
  return test::trivet("predict " + test::quoted((temp / "run").string()) + " --input " +
                      test::quoted(examples.string()) + " " + more);
}

std::vector<json> predicted(const test::TempDir& temp, const fs::path& examples,
                            const std::string& more = {}) {
  const auto result = predict(temp, examples, more);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return parsed(result.output);
}

}  // namespace

TEST_CASE("log probabilities of texts add up to the loss of the evaluation") {
  const test::TempDir temp;
  const fs::path file = config_with(
      temp,
      std::string("type = 'lm/LanguageModeling'\n[task.model]\ntype = 'lm/LanguageModel'\n") +
          kSizes,
      "type = 'data/LanguageModel'\nseq_len = 8\npack = false\n");
  const json values = evaluated(temp, file);
  const auto all = predicted(temp, temp / "dev.jsonl", "--batch 3");
  REQUIRE(all.size() == 20);
  double tokens = 0, log_probability = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // The letters and the end.
    CHECK(all[i].at("tokens") == words(100, 20)[i].at("text").get<std::string>().size() + 1);
    CHECK(all[i].at("log_pplx").get<double>() ==
          Approx(-all[i].at("log_probability").get<double>() / all[i].at("tokens").get<double>()));
    tokens += all[i].at("tokens").get<double>();
    log_probability += all[i].at("log_probability").get<double>();
  }
  CHECK(tokens == values.at("num_predictions"));
  CHECK(-log_probability / tokens == Approx(values.at("log_pplx").get<double>()).epsilon(1e-5));

  const fs::path wrong = temp.write("long.jsonl", R"({"text": "a"}
{"text": "aaaaaaaaaa"}
)");
  const auto result = predict(temp, wrong);
  INFO(result.output);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output, Contains("long.jsonl:2: takes 11 positions, and a row has 8"));
}

TEST_CASE("predicted tokens of masks are those of the evaluation") {
  const test::TempDir temp;
  // The evaluation masks every letter.
  const fs::path file = config_with(
      temp, std::string("type = 'lm/MaskedLm'\n[task.model]\ntype = 'lm/Bert'\n") + kSizes,
      "type = 'data/MaskedLanguageModel'\nseq_len = 8\npack = false\nmask_id = 258\n"
      "mask_share = 1.0\nrandom_share = 0.0\n",
      "mask_rate = 1.0\n");
  const json values = evaluated(temp, file);
  const auto given = words(100, 20);
  std::vector<json> masked;
  for (const json& word : given) {
    std::string text;
    for (std::size_t i = 0; i < word.at("text").get<std::string>().size(); ++i) {
      text += i % 2 == 0 ? "[MASK]" : "<mask>";
    }
    masked.push_back({{"text", text}});
  }
  const auto all = predicted(temp, temp.write("masked.jsonl", lines(masked)), "--batch 7");
  REQUIRE(all.size() == 20);
  double right = 0, count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string word = given[i].at("text");
    const auto tokens = all[i].at("tokens").get<std::vector<std::string>>();
    REQUIRE(tokens.size() == word.size());
    REQUIRE(all[i].at("probabilities").size() == word.size());
    CHECK(all[i].at("probabilities")[0] > 1 / 259.0);
    CHECK(all[i].at("probabilities")[0] < 1);
    std::string text;
    for (std::size_t at = 0; at < word.size(); ++at) {
      text += tokens[at];
      right += tokens[at] == word.substr(at, 1) ? 1 : 0;
      ++count;
    }
    CHECK(all[i].at("text") == text);
  }
  CHECK(count == values.at("num_predictions"));
  CHECK(right > 0);
  CHECK(right / count == Approx(values.at("masked_lm_accuracy").get<double>()));

  // Text around a mask stays.
  const auto one = predicted(temp, temp.write("one.jsonl", "{\"text\": \"ab[MASK]ba\"}\n"));
  const std::string token = one.at(0).at("tokens").at(0);
  CHECK(one[0].at("text") == "ab" + token + "ba");
  const auto none = predict(temp, temp / "dev.jsonl");
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.output, Contains("dev.jsonl:1: has no token to predict") && Contains("[MASK]"));
}

TEST_CASE("predicted targets of sources are those that the evaluation decodes") {
  const test::TempDir temp;
  const fs::path file = config_with(
      temp,
      std::string("type = 'lm/Seq2Seq'\ndecode = { max_decode_steps = 6, temperature = 2.0 }\n"
                  "[[task.eval_inputs]]\nname = 'dev'\nprogram = 'decode'\n"
                  "text_metrics = ['lm/ExactMatch', { type = 'lm/ErrorRate', "
                  "unit = 'character' }]\n"
                  "input = '${task.eval_input}'\n"
                  "[task.model]\ntype = 'lm/SequenceModel'\n") +
          kSizes,
      "type = 'data/SequenceToSequence'\ninputs = '{text}'\ntargets = '{turned}'\n"
      "inputs_len = 8\ntargets_len = 8\npack = false\n");
  evaluated(temp, file);
  const auto decoded = parsed(test::read_file(temp / "run/eval_inputs/dev/outputs_step_30.jsonl"));
  // Sources alone, in other batches, without the run's data.
  std::vector<json> sources;
  for (const json& word : words(100, 20)) sources.push_back({{"text", word.at("text")}});
  fs::remove(temp / "dev.jsonl");
  const auto all = predicted(temp, temp.write("sources.jsonl", lines(sources)), "--batch 3");
  REQUIRE(all.size() == 20);
  REQUIRE(decoded.size() == 20);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].at("prompt") == sources[i].at("text"));
    CHECK(all[i].at("decoded") == decoded[i].at("decoded"));
    CHECK(all[i].at("score").get<double>() ==
          Approx(decoded[i].at("score").get<double>()).epsilon(1e-4));
    CHECK_FALSE(all[i].contains("references"));
  }
  const auto empty = predict(temp, temp.write("empty.jsonl", "{\"text\": \"\"}\n"));
  CHECK(empty.exit_code == 2);
  CHECK_THAT(empty.output, Contains("empty.jsonl:1: the source has no token"));
}

TEST_CASE("embeddings of texts give the recall of the evaluation") {
  const test::TempDir temp;
  const fs::path file =
      config_with(temp,
                  std::string("type = 'lm/Retrieval'\nlogit_scale = 20.0\n"
                              "[[task.eval_inputs]]\nname = 'dev'\noutputs = true\n"
                              "input = '${task.eval_input}'\n"
                              "[task.model]\ntype = 'lm/DualEncoder'\n") +
                      kSizes,
                  "type = 'data/TextPairs'\nleft = '{text}'\nright = '{turned}'\nseq_len = 8\n");
  const json values = evaluated(temp, file);
  const auto outputs = parsed(test::read_file(temp / "run/eval_inputs/dev/outputs_step_30.jsonl"));
  const auto embeddings = [&](const char* side) {
    std::vector<json> texts;
    for (const json& word : words(100, 20)) texts.push_back({{"text", word.at(side)}});
    std::vector<std::vector<double>> all;
    for (const json& line : predicted(temp, temp.write("texts.jsonl", lines(texts)), "--batch 7")) {
      all.push_back(line.at("embedding").get<std::vector<double>>());
    }
    REQUIRE(all.size() == 20);
    return all;
  };
  const auto left = embeddings("text"), right = embeddings("turned");
  const auto product = [&](std::size_t i, std::size_t j) {
    return std::inner_product(left[i].begin(), left[i].end(), right[j].begin(), 0.0);
  };
  REQUIRE(outputs.size() == 20);
  // Two products that differ by less than this may change places with the order of their sums.
  constexpr double kTie = 5e-6;
  int hits = 0, first = 0, certain = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(outputs[i].at("score").get<double>() == Approx(product(i, i)).margin(1e-5));
    const std::size_t batch = i / 8 * 8;  // of the evaluation
    int before = 0, tied = 0;
    for (std::size_t j = batch; j < std::min<std::size_t>(batch + 8, 20); ++j) {
      if (j == i) continue;
      const double lead = product(i, j) - product(i, i);
      (std::abs(lead) < kTie ? tied : before) += lead > -kTie ? 1 : 0;
    }
    const int rank = outputs[i].at("rank").get<int>();
    CHECK(rank >= before + 1);
    CHECK(rank <= before + tied + 1);
    certain += tied == 0 ? 1 : 0;
    hits += rank <= 3 ? 1 : 0;
    first += rank <= 1 ? 1 : 0;
  }
  CHECK(certain >= 8);
  CHECK(hits / 20.0 == Approx(values.at("left_recall_at_3").get<double>()));
  CHECK(first / 20.0 == Approx(values.at("left_recall_at_1").get<double>()));
  CHECK(values.at("dev/left_recall_at_1") == values.at("left_recall_at_1"));
}

TEST_CASE("predicted answers have the scores of the evaluation", "[slow]") {
  const test::TempDir temp;
  const auto trained = test::run(test::config("lm/answers.toml"), temp / "run",
                                 "trainer.train_steps=60 trainer.validation_interval=0 "
                                 "runtime.threads=1");
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  const json values = test::records(temp / "run", "eval").back().at("values");
  const json data =
      json::parse(test::read_file(test::source_root() / "configs/lm/data/people_eval.json"));
  std::vector<json> questions;
  std::vector<std::string> right;
  for (const json& paragraph : data.at("data").at(0).at("paragraphs")) {
    for (const json& question : paragraph.at("qas")) {
      questions.push_back(
          {{"context", paragraph.at("context")}, {"question", question.at("question")}});
      right.push_back(question.at("answers").at(0).at("text"));
    }
  }
  const auto all = predicted(temp, temp.write("questions.jsonl", lines(questions)), "--batch 7");
  REQUIRE(all.size() == right.size());
  double equal = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // As the official script normalizes these answers.
    std::string answer = all[i].at("answer");
    std::erase_if(answer, [](char c) { return c == '.' || c == ','; });
    if (answer.starts_with("a ")) answer.erase(0, 2);
    answer.erase(0, answer.find_first_not_of(' '));
    answer.erase(answer.find_last_not_of(' ') + 1);
    equal += answer == right[i] ? 1 : 0;
  }
  CHECK(equal > 0);
  CHECK(100 * equal / static_cast<double>(right.size()) ==
        Approx(values.at("exact_match").get<double>()));
}

TEST_CASE("one of several tasks predicts by its name") {
  const test::TempDir temp;
  const auto task = [&](const char* name, const char* label) {
    const std::string input = std::string("type = 'data/SentencePairs'\ntext_a = '{text}'\n") +
                              "label = '{" + label + "}'\nclass_names = ['a', 'b']\nseq_len = 8\n";
    return "[[task.tasks]]\nname = '" + std::string(name) +
           "'\n[task.tasks.task]\ntype = 'lm/SentencePrediction'\n"
           "tokenizer = { type = 'tokenizers/Bytes', bos = true, eos = true }\n"
           "[task.tasks.task.model]\ntype = 'lm/BertClassifier'\n" +
           kSizes + "[task.tasks.task.train_input]\nbatch_size = 16\n" + input +
           source_of(temp, "train.jsonl", 0, 100) +
           "[task.tasks.task.eval_input]\nbatch_size = 8\n" + input +
           source_of(temp, "dev.jsonl", 100, 20);
  };
  const fs::path file =
      temp.write("config.toml",
                 "seed = 1\n[runtime]\nthreads = 1\n"
                 "[trainer]\ntrain_steps = 30\nlearning_rate = 0.01\noptimizer = 'optim/Adam'\n"
                 "[task]\ntype = 'multitask/Joint'\n" +
                     task("most", "more") + task("end", "last"));
  const json values = evaluated(temp, file);
  const auto accuracy = [&](const std::string& name, const char* label) {
    const auto all = predicted(temp, temp / "dev.jsonl", "--task " + name);
    REQUIRE(all.size() == 20);
    double right = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      right += all[i].at("class") == words(100, 20)[i].at(label) ? 1 : 0;
    }
    CHECK(right / 20 == Approx(values.at(name + "/accuracy").get<double>()));
    return right / 20;
  };
  CHECK(accuracy("end", "last") > 0.6);
  accuracy("most", "more");
  const auto refused = [&](const std::string& more) {
    const auto result = predict(temp, temp / "dev.jsonl", more);
    CHECK(result.exit_code == 2);
    return result.output;
  };
  CHECK_THAT(refused(""), Contains("task has several tasks: most, end"));
  CHECK_THAT(refused("--task first"), Contains("has no such task; it has most, end"));
  CHECK_THAT(refused("--task end/b"), Contains("task.tasks[1].task is one task"));
}

}  // namespace predict_tokens_test
