// SPDX-License-Identifier: Apache-2.0
// Encoders from the user's view: runs that learn to predict masked tokens, to transform text, to
// classify and to tag, and the output of the program.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace lm_encoder_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

// Nats per byte of a model that only knows the frequencies of bytes.
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

TEST_CASE("the masked config learns more of a license than how often each letter occurs",
          "[slow]") {
  const TempDir temp;
  const ShellResult result = run(config("lm/masked.toml"), temp / "run", "runtime.threads=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const double chance = unigram_entropy(read_file("/usr/share/common-licenses/GPL-3"));
  CHECK(chance > 3);
  CHECK(evaluated(temp / "run", "log_pplx") < 0.75 * chance);
  CHECK(evaluated(temp / "run", "masked_lm_accuracy") > 0.35);
}

TEST_CASE("a sequence model learns to reverse words and generates them", "[slow]") {
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
sample_prompts = ["fade", "ab"]
decode = { temperature = 0.0 }
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
  std::istringstream samples(read_file(temp / "run" / "samples.jsonl"));
  for (const char* const target : {"edaf", "ba"}) {
    std::string line;
    REQUIRE(std::getline(samples, line));
    CHECK(Json::parse(line).at("text") == target);
    CHECK(Json::parse(line).at("step") == 400);
  }
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

namespace {

// Random words of the letters a to h.
class Words {
 public:
  explicit Words(unsigned seed) : state_(seed) {}
  unsigned below(unsigned n) {
    state_ = state_ * 1103515245U + 12345U;
    return (state_ >> 16) % n;
  }
  std::string next() {
    std::string word;
    for (unsigned i = 0, length = 1 + below(4); i < length; ++i) word += "abcdefgh"[below(8)];
    return word;
  }

 private:
  unsigned state_;
};

// A config of a task with an encoder of one block, trained for `steps` steps of 16 rows.
std::string encoder_config(const std::string& task, const std::string& model,
                           const std::string& input, int steps) {
  const std::string count = std::to_string(steps);
  return R"(
seed = 1
[task]
tokenizer = { type = "tokenizers/Characters", alphabet = "abcdefgh ", unknown = "error", bos = true, eos = true, pad = true }
)" + task +
         R"(
[task.model]
model_dims = 32
num_layers = 1
num_heads = 4
max_seq_len = 32
type_vocab_size = 2
type = ")" +
         model + "\"\n[task.train_input]\nshuffle = true\nseq_len = 32\nbatch_size = 16\n" + input +
         "[task.eval_input]\nseq_len = 32\nbatch_size = 16\n" + input +
         "[trainer]\nsteps_per_loop = 50\ntrain_steps = " + count +
         "\nlearning_rate = { type = \"optim/Cosine\", initial_value = 0.01, final_value = 0.0005, "
         "decay_steps = " +
         count + ", warmup = { steps = 20 } }\noptimizer = \"optim/Adam\"\n";
}

std::string source_of(const fs::path& file) {
  return "source = { type = \"data/Jsonl\", files = [\"" + file.string() + "\"] }\n";
}

// Two words per line; whether the second has an "a", and the share of "a" in both.
fs::path write_pairs(const TempDir& temp) {
  Words words(5);
  std::string lines;
  for (int i = 0; i < 1200; ++i) {
    const std::string a = words.next();
    const std::string b = words.next();
    const std::string both = a + b;
    const auto as = static_cast<double>(std::count(both.begin(), both.end(), 'a'));
    lines += R"({"text_a": ")" + a + R"(", "text_b": ")" + b + R"(", "found": )" +
             (b.find('a') != std::string::npos ? "true" : "false") +
             ", \"share\": " + std::to_string(as / static_cast<double>(both.size())) + "}\n";
  }
  return temp.write("pairs.jsonl", lines);
}

}  // namespace

TEST_CASE("an encoder learns a property of the second of two texts, starting from a masked one",
          "[slow]") {
  const TempDir temp;
  const fs::path file = write_pairs(temp);
  const std::string pairs =
      "type = \"data/SentencePairs\"\ntext_b = \"{text_b}\"\nlabel = "
      "\"{found}\"\nclass_names = [\"false\", \"true\"]\n" +
      source_of(file);
  temp.write("found.toml",
             encoder_config("type = \"lm/SentencePrediction\"\n", "lm/BertClassifier", pairs, 100));
  const ShellResult result = run(temp / "found.toml", temp / "run", "runtime.threads=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(evaluated(temp / "run", "accuracy") > 0.95);
  CHECK(evaluated(temp / "run", "f1") > 0.95);
  CHECK(evaluated(temp / "run", "matthews_corrcoef") > 0.9);

  const std::string masked =
      "type = \"data/MaskedLanguageModel\"\nmask_id = 11\ntargets = "
      "\"{text_a} {text_b}\"\n" +
      source_of(file);
  temp.write("masked.toml", encoder_config("type = \"lm/MaskedLm\"\n", "lm/Bert", masked, 40));
  const ShellResult first = run(temp / "masked.toml", temp / "masked", "runtime.threads=1");
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  const ShellResult tuned =
      run(temp / "found.toml", temp / "tuned",
          "runtime.threads=1 trainer.train_steps=10 task.init_checkpoint=" +
              quoted((temp / "masked/checkpoints").string()) + " task.init_load.partial=true");
  INFO(tuned.output);
  REQUIRE(tuned.exit_code == 0);
  // It has all weights and biases but those of the pooler and the classifier.
  CHECK_THAT(tuned.output, Contains("4 missing"));
}

TEST_CASE("an encoder learns a number of a text", "[slow]") {
  const TempDir temp;
  const std::string input =
      "type = \"data/SentencePairs\"\ntext_a = \"{text_a}{text_b}\"\nlabel = \"{share}\"\n"
      "label_type = \"number\"\n" +
      source_of(write_pairs(temp));
  temp.write("share.toml", encoder_config("type = \"lm/SentencePrediction\"\nnum_classes = 1\n",
                                          "lm/BertClassifier", input, 300));
  const ShellResult result = run(temp / "share.toml", temp / "run", "runtime.threads=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(evaluated(temp / "run", "pearson") > 0.9);
  CHECK(evaluated(temp / "run", "spearman") > 0.8);
  CHECK(evaluated(temp / "run", "mean_squared_error") < 0.01);
  CHECK(evaluated(temp / "run", "validation_loss") ==
        Approx(evaluated(temp / "run", "mean_squared_error")).epsilon(1e-3));
}

TEST_CASE("an encoder learns to tag words by those before them", "[slow]") {
  // A word with an "a" starts an entity; the following words with a "b" and no "a" belong to it.
  const TempDir temp;
  Words words(9);
  std::string lines;
  for (int i = 0; i < 800; ++i) {
    std::string text, tags;
    bool inside = false;
    for (unsigned at = 0, length = 1 + words.below(6); at < length; ++at) {
      const std::string word = words.next();
      const bool begins = word.find('a') != std::string::npos;
      inside = begins || (inside && word.find('b') != std::string::npos);
      text += (at > 0 ? " " : "") + word;
      tags += std::string(at > 0 ? " " : "") + (begins ? "B-X" : inside ? "I-X" : "O");
    }
    lines += R"({"words": ")" + text + R"(", "tags": ")" + tags + "\"}\n";
  }
  const std::string input =
      "type = \"data/TaggedSequences\"\nclass_names = \"${task.class_names}\"\n" +
      source_of(temp.write("words.jsonl", lines));
  temp.write("tags.toml",
             encoder_config("type = \"lm/Tagging\"\nclass_names = [\"O\", \"B-X\", \"I-X\"]\n",
                            "lm/BertTagger", input, 400));
  const ShellResult result = run(temp / "tags.toml", temp / "run", "runtime.threads=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(evaluated(temp / "run", "accuracy") > 0.95);
  CHECK(evaluated(temp / "run", "f1") > 0.9);
  CHECK(evaluated(temp / "run", "precision") > 0.9);
  CHECK(evaluated(temp / "run", "recall") > 0.9);
}

}  // namespace lm_encoder_test
