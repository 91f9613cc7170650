// SPDX-License-Identifier: Apache-2.0
// Encoders as a user meets them: runs that learn to guess masked tokens, to write one text for
// another, to classify and to tag, and what the program makes of them.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "run_fixture.h"
#include "support/shell.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

// Nats a byte for who knows only how often each occurs in the text.
double unigram_entropy(const std::string& text) {
  std::map<char, double> counts;
  for (const char c : text) ++counts[c];
  double entropy = 0;
  for (const auto& [c, count] : counts) {
    const double p = count / static_cast<double>(text.size());
    entropy -= p * std::log(p);
  }
  return entropy;
}

double evaluated(const fs::path& workdir, const char* name) {
  return records(workdir, "eval").back().at("values").at(name).get<double>();
}

}  // namespace

TEST_CASE("the masked config learns more of a licence than how often each letter occurs") {
  const TempDir temp;
  const ShellResult result = run(config("lm/masked.toml"), temp / "run", "runtime.threads=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const double chance = unigram_entropy(read_file("/usr/share/common-licenses/GPL-3"));
  CHECK(chance > 3);
  CHECK(evaluated(temp / "run", "log_pplx") < 0.75 * chance);
  CHECK(evaluated(temp / "run", "masked_lm_accuracy") > 0.35);
}

TEST_CASE("a sequence model learns to turn words around, and writes them") {
  const TempDir temp;
  std::string lines;
  unsigned state = 7;
  for (int i = 0; i < 1500; ++i) {
    std::string word;
    state = state * 1103515245U + 12345U;
    const unsigned length = 2 + (state >> 16) % 4;
    for (unsigned at = 0; at < length; ++at) {
      state = state * 1103515245U + 12345U;
      word += "abcdef"[(state >> 16) % 6];
    }
    lines += R"({"word": ")" + word + R"(", "turned": ")" +
             std::string(word.rbegin(), word.rend()) + "\"}\n";
  }
  const std::string file = temp.write("words.jsonl", lines).string();
  const std::string input = R"(
type = "data/SequenceToSequence"
source = { type = "data/Jsonl", files = [")" +
                            file + R"("] }
inputs = "{word}"
targets = "{turned}"
inputs_len = 24
targets_len = 24
batch_size = 16
)";
  temp.write("turn.toml", R"(
seed = 1
[task]
type = "lm/Seq2Seq"
tokenizer = { type = "tokenizers/Characters", alphabet = "abcdef", unknown = "error", bos = true, eos = true }
[task.model]
type = "lm/SequenceModel"
model_dims = 32
num_layers = 1
num_heads = 4
max_seq_len = 24
[task.train_input]
shuffle = true
)" + input + "[task.eval_input]\n" +
                              input + R"(
[trainer]
train_steps = 400
learning_rate = { type = "optim/Cosine", initial_value = 0.01, final_value = 0.0005, decay_steps = 400, warmup = { steps = 20 } }
optimizer = "optim/Adam"
)");
  const ShellResult result = run(temp / "turn.toml", temp / "run", "runtime.threads=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(evaluated(temp / "run", "fraction_of_correct_next_step_preds") > 0.97);
  const auto generate = [&](const std::string& words) {
    return trivet::test::trivet("generate " + quoted((temp / "run").string()) + " " + words);
  };
  CHECK(generate("fade -t 0").output == "edaf\n");
  CHECK(generate("bcab --beams 3").output == "bacb\n");
  temp.write("prompts.txt", "abc\nfeed\n");
  CHECK(generate("-t 0 -f " + quoted((temp / "prompts.txt").string())).output ==
        "cba\n---\ndeef\n");
  const Json line = Json::parse(generate("ab -t 0 --json").output);
  CHECK(line.at("text") == "ba");
  CHECK(line.at("end") == "end_token");
  const ShellResult bad = generate("xyz");
  CHECK(bad.exit_code != 0);
  CHECK_THAT(bad.output, Contains("x"));
}
