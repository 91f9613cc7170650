// SPDX-License-Identifier: Apache-2.0
// XLNet through the real program: it learns to predict tokens in any order, continues in the same
// bytes, and predicts the masks of a text.
#include <filesystem>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace xlnet_test {
namespace {

namespace test = trivet::test;
namespace fs = std::filesystem;
using Catch::Contains;
using nlohmann::json;

// Words of three letters, each twice: "abcabc".
std::string words(int first, int count) {
  std::string lines;
  for (int i = first; i < first + count; ++i) {
    std::string word;
    for (int at = 0; at < 3; ++at) word += static_cast<char>('a' + (i * (at + 2) + i / 5 + at) % 5);
    lines += json{{"text", word + word}}.dump() + "\n";
  }
  return lines;
}

fs::path config_in(const test::TempDir& temp) {
  const std::string input =
      "type = 'data/MaskedLanguageModel'\nseq_len = 8\npack = false\nmask_id = 258\n"
      "mask_rate = 0.4\npermutation = { enabled = true }\n";
  const auto source = [&](const char* name, int first, int count) {
    return "source = { type = 'data/Jsonl', files = ['" +
           temp.write(name, words(first, count)).string() + "'] }\n";
  };
  return temp.write(
      "config.toml",
      "seed = 1\n[runtime]\nthreads = 1\n[trainer]\ntrain_steps = 300\nsteps_per_loop = 20\n"
      "checkpoint_interval = 100\nlearning_rate = 0.01\noptimizer = 'optim/Adam'\n"
      "[task]\ntype = 'lm/MaskedLm'\n"
      "tokenizer = { type = 'tokenizers/Bytes', bos = true, eos = true, pad = true }\n"
      "[task.model]\ntype = 'lm/Bert'\nmodel_dims = 16\nnum_layers = 2\nnum_heads = 2\n"
      "position_emb_tpl = 'none'\nfinal_norm_tpl = 'none'\nblock_tpl = 'nn/XlnetBlock'\n"
      "dropout = 0.05\n"
      "stacked_transformer_tpl = { type = 'nn/XlnetTransformer', two_stream = true }\n"
      "[task.train_input]\nbatch_size = 16\nshuffle = true\n" +
          input + source("train.jsonl", 0, 100) + "[task.eval_input]\nbatch_size = 8\n" + input +
          source("dev.jsonl", 100, 20));
}

}  // namespace

TEST_CASE("XLNet learns, continues in the same bytes, and predicts masks", "[slow]") {
  const test::TempDir temp;
  const fs::path file = config_in(temp);
  const auto summary = test::trivet("summary --abstract " + test::quoted(file.string()));
  INFO(summary.output);
  CHECK(summary.exit_code == 0);
  const auto whole = test::run(file, temp / "whole");
  INFO(whole.output);
  REQUIRE(whole.exit_code == 0);
  const auto losses = test::records(temp / "whole", "train");
  CHECK(losses.front().at("values").at("training_loss").get<double>() > 3);
  CHECK(losses.back().at("values").at("training_loss").get<double>() < 1.7);

  REQUIRE(test::run(file, temp / "parts", "trainer.train_steps=100").exit_code == 0);
  const auto continued = test::run(file, temp / "parts");
  INFO(continued.output);
  REQUIRE(continued.exit_code == 0);
  const fs::path model = "checkpoints/step_00000300/model.safetensors";
  CHECK(test::read_file(temp / "parts" / model) == test::read_file(temp / "whole" / model));

  // A later task has one stream, and starts from the same weights.
  const auto later =
      test::run(file, temp / "later",
                "trainer.train_steps=20 task.train_input.permutation.enabled=false "
                "task.eval_input.permutation.enabled=false "
                "task.model.stacked_transformer_tpl.two_stream=false task.init_checkpoint=" +
                    test::quoted((temp / "whole").string()));
  INFO(later.output);
  REQUIRE(later.exit_code == 0);
  const auto first = test::records(temp / "later", "train").front();
  CHECK(first.at("values").at("training_loss").get<double>() < 4);

  const auto predicted = test::trivet(
      "predict " + test::quoted((temp / "whole").string()) + " --input " +
      test::quoted(temp.write("masked.jsonl", "{\"text\": \"abc[MASK]bc\"}\n").string()));
  INFO(predicted.output);
  REQUIRE(predicted.exit_code == 0);
  CHECK(json::parse(predicted.output).at("tokens").size() == 1);
}

TEST_CASE("a stack of other blocks than its own is refused before a directory is made") {
  const test::TempDir temp;
  for (const char* stack : {"Xlnet", "Reuse"}) {
    CAPTURE(stack);
    const auto refused = test::run(
        test::config("lm/local.toml"), temp / "run",
        "task.model.stacked_transformer_tpl.type=nn/" + std::string(stack) + "Transformer");
    INFO(refused.output);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.output,
               Contains("task.model: 'transformer': nn/" + std::string(stack) +
                        "Transformer stacks nn/" + stack + "Block, not nn/TransformerBlock"));
    CHECK_FALSE(fs::exists(temp / "run"));
  }
}

}  // namespace xlnet_test
