// SPDX-License-Identifier: Apache-2.0
// The program "decode": texts that a language model and an encoder-decoder write for the examples
// of a data set.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/disk/slow_disk.h"
#include "support/shell.h"

namespace decode_test {

namespace test = trivet::test;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// "cab>" is followed by "bac".
std::string pairs(int first, int count) {
  std::string text;
  for (int i = first; i < first + count; ++i) {
    std::string letters;
    for (int n = i; letters.empty() || n > 0; n /= 3) letters += static_cast<char>('a' + n % 3);
    text += json{{"from", letters + ">"}, {"to", std::string(letters.rbegin(), letters.rend())}}
                .dump() +
            "\n";
  }
  return text;
}

// `input` has the fields of an input for a file, without batch_size.
fs::path config_with(const test::TempDir& temp, const std::string& task, const std::string& input) {
  const auto data = [&](const char* name, int first, int count) {
    return input + "source = { type = 'data/Jsonl', files = ['" +
           temp.write(name, pairs(first, count)).string() + "'] }\n";
  };
  return temp.write("config.toml",
                    "seed = 1\n[runtime]\nthreads = 1\n[task]\n"
                    "tokenizer = { type = 'tokenizers/Bytes', bos = true, eos = true }\n"
                    "decode = { max_decode_steps = 6, temperature = 0.0 }\n" +
                        task + "[task.train_input]\nbatch_size = 16\nshuffle = true\n" +
                        data("train.jsonl", 0, 200) + "[task.eval_input]\nbatch_size = 4\n" +
                        data("dev.jsonl", 90, 10) +
                        "[[task.eval_inputs]]\nname = 'dev'\nprogram = 'decode'\ninterval = 20\n"
                        "text_metrics = ['lm/ExactMatch', 'lm/Bleu', "
                        "{ type = 'lm/ErrorRate', unit = 'character' }]\n"
                        "input = '${task.eval_input}'\n"
                        "[trainer]\ntrain_steps = 60\nsteps_per_loop = 20\nlearning_rate = 0.01\n"
                        "optimizer = 'optim/Adam'\n");
}

fs::path language_model(const test::TempDir& temp) {
  return config_with(temp,
                     "type = 'lm/LanguageModeling'\n"
                     "[task.model]\ntype = 'lm/LanguageModel'\nmodel_dims = 16\nnum_layers = 1\n"
                     "num_heads = 2\nmax_seq_len = 16\n"
                     "position_emb_tpl = 'nn/TrainablePositionalEmbedding'\n",
                     "type = 'data/LanguageModel'\ninputs = '{from}'\ntargets = '{to}'\n"
                     "weights_on_targets_only = true\nseq_len = 16\npack = false\n"
                     "long_documents = 'trim'\n");
}

std::vector<json> outputs_of(const fs::path& workdir, std::int64_t step,
                             const std::string& set = "dev") {
  std::vector<json> lines;
  std::istringstream text(test::read_file(workdir / "eval_inputs" / set /
                                          ("outputs_step_" + std::to_string(step) + ".jsonl")));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("features of the data come back in the outputs of evaluations and of trivet predict") {
  const test::TempDir temp;
  const fs::path file = language_model(temp);
  const auto result =
      test::run(file, temp / "run",
                "trainer.train_steps=20 'task.eval_input.passthrough_features=[\"from\"]' "
                "'task.eval_inputs=[{name=\"dev\", program=\"decode\", interval=20, "
                "input=\"${task.eval_input}\"}, {name=\"scored\", outputs=true, interval=20, "
                "input=\"${task.eval_input}\"}]'");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  for (const char* set : {"dev", "scored"}) {
    const auto lines = outputs_of(temp / "run", 20, set);
    REQUIRE(lines.size() == 10);
    CHECK(lines[3].at("features") == json{{"from", "abbab>"}});
    CHECK(lines[9].at("features").at("from") != lines[3].at("features").at("from"));
  }
  const fs::path given = temp.write("given.jsonl", R"({"from": "ab>", "to": "ba"})");
  const auto predicted = test::trivet("predict " + test::quoted((temp / "run").string()) +
                                      " --input " + test::quoted(given.string()));
  INFO(predicted.output);
  CHECK_THAT(predicted.output, Contains(R"("features":{"from":"ab>"})"));
}

TEST_CASE("a language model writes the texts that trivet generate prints") {
  const test::TempDir temp;
  const fs::path file = language_model(temp);
  const auto result = test::run(file, temp / "run");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto records = test::records(temp / "run", "eval");
  REQUIRE(records.size() == 3);
  CHECK(records[0].at("values").at("dev/examples") == 10);
  CHECK_FALSE(records[0].at("values").contains("log_pplx"));
  CHECK(records[2].at("values").contains("log_pplx"));
  const auto lines = outputs_of(temp / "run", 60);
  REQUIRE(lines.size() == 10);
  CHECK(lines[3].at("example") == 3);
  double right = 0;
  for (const json& line : lines) right += line.at("references")[0] == line.at("decoded") ? 1 : 0;
  CHECK(records[2].at("values").at("dev/exact_match") == right / 10);
  CHECK(records[2].at("values").at("dev/cer") < records[0].at("values").at("dev/cer"));
  CHECK(lines[3].at("prompt") == "abbab>");
  CHECK(lines[3].at("references") == json{"babba"});

  const auto generated =
      test::trivet("generate " + test::quoted((temp / "run").string()) + " 'abbab>' --json");
  INFO(generated.output);
  REQUIRE(generated.exit_code == 0);
  const json text = json::parse(generated.output);
  CHECK(text.at("text") == lines[3].at("decoded"));
  CHECK(text.at("log_probability").get<double>() ==
        Approx(lines[3].at("score").get<double>()).epsilon(1e-4));
  CHECK_FALSE(text.contains("log_probabilities"));

  const std::string generate = "generate " + test::quoted((temp / "run").string()) + " 'abbab>' ";
  for (const char* how : {"--json --logprobs", "--json --logprobs --beams 3"}) {
    INFO(how);
    const json told = json::parse(test::trivet(generate + how).output);
    CHECK(told.at("ids").size() == told.at("tokens").get<std::size_t>());
    REQUIRE(told.at("log_probabilities").size() == told.at("ids").size());
    double sum = 0;
    for (const json& each : told.at("log_probabilities")) {
      CHECK(each.get<double>() <= 0);
      sum += each.get<double>();
    }
    CHECK(sum == Approx(told.at("log_probability").get<double>()));
  }
  const auto alone = test::trivet(generate + "--logprobs");
  CHECK(alone.exit_code == 2);
  CHECK_THAT(alone.output, Contains("--logprobs adds to lines of JSON"));

  // The same once on the newest checkpoint, for the data of eval_input.
  const auto once = test::run(file, temp / "run", "--mode decode task.eval_inputs=[]");
  INFO(once.output);
  REQUIRE(once.exit_code == 0);
  CHECK(outputs_of(temp / "run/evals/1", 60, "eval_input") == lines);
}

TEST_CASE("samples are ordered by their probability and do not depend on batches") {
  const test::TempDir temp;
  const fs::path file = language_model(temp);
  REQUIRE(test::run(file, temp / "run").exit_code == 0);
  const auto sampled = [&](const std::string& more) {
    const auto result = test::run(file, temp / "run",
                                  "--mode decode task.decode.temperature=2.0 "
                                  "task.eval_inputs[0].num_samples=4 " +
                                      more);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
  };
  sampled("");
  sampled("task.eval_input.batch_size=3");
  const auto lines = outputs_of(temp / "run/evals/1", 60);
  const auto others = outputs_of(temp / "run/evals/2", 60);
  REQUIRE(lines.size() == 10);
  REQUIRE(others.size() == 10);
  std::set<std::string> texts;
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(lines[i].at("decoded") == others[i].at("decoded"));
    const auto scores = lines[i].at("scores").get<std::vector<double>>();
    REQUIRE(scores.size() == 4);
    CHECK(std::is_sorted(scores.rbegin(), scores.rend()));
    for (const auto& text : lines[i].at("decoded")) texts.insert(text.get<std::string>());
  }
  CHECK(texts.size() > 20);

  const auto search = [&](const char* samples) {
    return test::run(
        file, temp / "run",
        std::string("--mode decode task.decode.beam_size=2 task.eval_inputs[0].num_samples=") +
            samples);
  };
  const auto best = search("2");
  INFO(best.output);
  REQUIRE(best.exit_code == 0);
  const auto searched = outputs_of(temp / "run/evals/3", 60);
  REQUIRE(searched.size() == 10);
  for (const auto& line : searched) {
    REQUIRE(line.at("decoded").size() == 2);
    CHECK(line.at("decoded")[0] != line.at("decoded")[1]);
  }
  const auto more = search("3");
  INFO(more.output);
  CHECK(more.exit_code == 2);
  CHECK_THAT(more.output, Contains("num_samples is 3, and beam search has 2 sequences"));
}

TEST_CASE("a run killed at any write of decoded texts ends with the same bytes", "[slow]") {
  const test::TempDir temp;
  const fs::path file = language_model(temp);
  const std::string samples =
      "task.decode.temperature=1.0 'task.eval_inputs[0].num_samples=2' "
      "trainer.checkpoint_interval=25 trainer.validation_interval=20 ";
  REQUIRE(test::run(file, temp / "alone", samples).exit_code == 0);
  REQUIRE(test::run(file, temp / "alone", samples + "--mode decode").exit_code == 0);
  const auto written = [&](const fs::path& workdir, std::int64_t step) {
    return test::read_file(workdir / "eval_inputs/dev" /
                           ("outputs_step_" + std::to_string(step) + ".jsonl"));
  };
  const auto expect_same = [&](const fs::path& workdir) {
    CHECK(test::record_values(workdir) == test::record_values(temp / "alone"));
    for (const std::int64_t step : {20, 40, 60}) {
      CHECK(written(workdir, step) == written(temp / "alone", step));
    }
  };
  int killed = 0;
  const auto kills = [&](const std::string& mode, const std::string& below,
                         const std::function<void(const fs::path&)>& before) {
    for (std::uint64_t call = 1; call <= 40; ++call) {
      INFO("mode '" << mode << "', " << below << ", call " << call);
      const fs::path workdir = temp / ((mode.empty() ? "train" : "decode") + std::to_string(call));
      before(workdir);
      const test::SlowDisk disk{.below = workdir / below, .kill = call};
      const auto first = test::run(file, workdir, samples + mode, disk.prefix());
      if (first.exit_code == 0) break;
      REQUIRE(first.exit_code == 128 + SIGKILL);
      ++killed;
      const auto again = test::run(file, workdir, samples + mode);
      INFO(again.output);
      REQUIRE(again.exit_code == 0);
      expect_same(workdir);
      if (mode.empty()) continue;
      // The next one has the next folder, unless the killed one had not come to its first line.
      const fs::path second = workdir / "evals/2";
      CHECK(written(fs::exists(second) ? second : workdir / "evals/1", 60) ==
            written(temp / "alone/evals/1", 60));
    }
  };
  kills("", "eval_inputs/dev", [](const fs::path&) {});
  const int in_training = killed;
  CHECK(in_training >= 6);
  kills("--mode decode", "evals/1", [&](const fs::path& workdir) {
    fs::create_directories(workdir);
    for (const auto& entry : fs::directory_iterator(temp / "alone")) {
      if (entry.path().filename() == "evals") continue;
      fs::copy(entry.path(), workdir / entry.path().filename(), fs::copy_options::recursive);
    }
  });
  CHECK(killed >= in_training + 4);
}

TEST_CASE("an encoder-decoder writes targets for the sources of a data set") {
  const test::TempDir temp;
  const fs::path file =
      config_with(temp,
                  "type = 'lm/Seq2Seq'\n[task.model]\ntype = 'lm/SequenceModel'\n"
                  "model_dims = 16\nnum_layers = 1\n"
                  "num_heads = 2\nmax_seq_len = 16\n",
                  "type = 'data/SequenceToSequence'\ninputs = '{from}'\ntargets = '{to}'\n"
                  "inputs_len = 8\ntargets_len = 8\npack = false\n");
  const auto result = test::run(file, temp / "run");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto lines = outputs_of(temp / "run", 60);
  REQUIRE(lines.size() == 10);
  CHECK(lines[3].at("prompt") == "abbab>");
  CHECK(lines[3].at("references") == json{"babba"});
  const auto generated =
      test::trivet("generate " + test::quoted((temp / "run").string()) + " 'abbab>' --json");
  INFO(generated.output);
  REQUIRE(generated.exit_code == 0);
  CHECK(json::parse(generated.output).at("text") == lines[3].at("decoded"));
}

TEST_CASE("rows of several documents cannot be decoded") {
  const test::TempDir temp;
  const fs::path file = language_model(temp);
  const auto result = test::run(file, temp / "run",
                                "task.eval_input.pack=true task.eval_input.seq_len=64 "
                                "task.model.max_seq_len=64 "
                                "trainer.train_steps=1");
  INFO(result.output);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output, Contains("a row holds several documents") && Contains("pack = false"));
}

}  // namespace decode_test
