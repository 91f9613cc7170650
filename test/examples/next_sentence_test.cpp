// SPDX-License-Identifier: Apache-2.0
// Next-sentence prediction from the user's view: a run that learns it, and resumes.
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace next_sentence_test {

using namespace trivet::test;

TEST_CASE("an encoder learns which sentence follows, next to the masked tokens", "[slow]") {
  // Each document repeats one letter, so sentences of two documents differ in all letters.
  const TempDir temp;
  std::string lines;
  for (const char letter : std::string("abcdefgh")) {
    lines += R"({"text": ")" + std::string(200, letter) + "\"}\n";
  }
  const std::string file = temp.write("letters.jsonl", lines).string();
  const std::string input = R"(
type = "data/MaskedLanguageModel"
source = { type = "data/Jsonl", files = [")" +
                            file + R"("] }
seq_len = 16
batch_size = 16
mask_id = 258
pack = false
next_sentence = true
)";
  temp.write("pairs.toml", R"(
seed = 1
[task]
type = "lm/MaskedLm"
tokenizer = { type = "tokenizers/Bytes", bos = true, eos = true, pad = true }
[task.model]
type = "lm/Bert"
model_dims = 32
num_layers = 1
num_heads = 4
max_seq_len = 16
type_vocab_size = 2
next_sentence = { enabled = true, dropout = 0.0 }
[task.train_input]
shuffle = true
)" + input + "[task.eval_input]\nseed = 5\n" +
                               input + R"(
[trainer]
train_steps = 500
learning_rate = 0.003
optimizer = "optim/Adam"
)");
  const ShellResult summary =
      trivet::test::trivet("summary --abstract " + quoted((temp / "pairs.toml").string()));
  INFO(summary.output);
  CHECK(summary.exit_code == 0);
  const ShellResult result = run(temp / "pairs.toml", temp / "run", "runtime.threads=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto values = records(temp / "run", "eval").back().at("values");
  CHECK(values.at("next_sentence_accuracy").get<double>() > 0.9);
  CHECK(values.at("next_sentence_loss").get<double>() < 0.3);
  CHECK(values.at("loss/next_sentence_loss").get<double>() +
            values.at("loss/avg_xent").get<double>() ==
        Approx(values.at("validation_loss").get<double>()));
}

}  // namespace next_sentence_test
