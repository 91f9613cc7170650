// SPDX-License-Identifier: Apache-2.0
// trivet export of a trained run.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "hf_models.h"
#include "program/run/run_fixture.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("a trained run is exported with the weights of evaluations and gives the same results",
          "[slow]") {
  const TempDir dir;
  const bool averaged = GENERATE(false, true);
  const ShellResult trained = run(config("lm/local.toml"), dir / "run",
                                  "mode=train trainer.train_steps=3 runtime.threads=1 " +
                                      std::string(averaged ? "trainer.ema.decay=0.5" : ""));
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  const ShellResult exported = trivet::test::trivet("export " + quoted((dir / "run").string()) +
                                                    " -o " + quoted((dir / "out").string()));
  INFO(exported.output);
  REQUIRE(exported.exit_code == 0);
  CHECK_THAT(exported.output, Contains("gpt2, step 3") && Contains("no tokenizer"));
  CHECK_FALSE(fs::exists(dir / "out" / "tokenizer.json"));

  const fs::path step = dir / "run" / "checkpoints" / "step_00000003";
  const auto own = read_safetensors(step / "model.safetensors");
  const auto used = read_safetensors(step / (averaged ? "ema.safetensors" : "model.safetensors"));
  const auto written = read_safetensors(dir / "out" / "model.safetensors");
  CHECK(written.at("transformer.wte.weight").values == used.at("softmax/table").values);
  CHECK(written.at("transformer.h.1.mlp.c_fc.weight").values ==
        used.at("transformer/layer_1/mlp_in/w").values);
  CHECK((written.at("transformer.wte.weight").values == own.at("softmax/table").values) !=
        averaged);

  REQUIRE(trivet::test::trivet("import " + quoted((dir / "out").string()) + " -o " +
                               quoted((dir / "again").string()))
              .exit_code == 0);
  const auto text = [&](const char* name, const std::string& more) {
    return trivet::test::trivet("generate " + quoted((dir / name).string()) + " You -n 20 -t 0 " +
                                more)
        .output;
  };
  CHECK(text("again", "--set task.tokenizer=tokenizers/Bytes") == text("run", ""));
}

TEST_CASE("a Llama is imported and exported with its SentencePiece model") {
  const TempDir dir;
  if (shell("command -v spm_train").exit_code != 0 ||
      !fs::exists(plugin_dir() / "sentencepiece.so")) {
    SUCCEED();
    WARN("skipped: there is no spm_train (Debian: sentencepiece), or no plugin for its models");
    return;
  }
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += "the cat sat on the mat and ate the hat\n";
  dir.write("text.txt", lines);
  const ShellResult learnt =
      shell("cd " + quoted(dir.path().string()) +
            " && spm_train --input=text.txt --model_prefix=tokenizer --vocab_size=30 "
            "--hard_vocab_limit=false --minloglevel=2");
  INFO(learnt.output);
  REQUIRE(learnt.exit_code == 0);
  write_model(small_llama(true), dir / "llama");
  fs::copy_file(dir / "tokenizer.model", dir / "llama" / "tokenizer.model");
  // The published file: the same tokens in a format that trivet does not read.
  dir.write("llama/tokenizer.json", R"({"model": {"type": "BPE", "byte_fallback": true}})");
  const auto trivet_on = [&](const std::string& words) {
    const ShellResult result = shell("cd " + quoted(dir.path().string()) +
                                     " && TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) +
                                     " " + quoted(program().string()) + " " + words);
    INFO(words << ": " << result.output);
    REQUIRE(result.exit_code == 0);
    return result.output;
  };
  trivet_on("import llama -o run");
  CHECK_THAT(trivet_on("config show run/config.toml"), Contains("add_bos = true"));
  const std::string text = trivet_on("generate run 'the' -n 4 -t 0");
  CHECK_THAT(text, Catch::StartsWith("the"));
  CHECK_THAT(trivet_on("export run -o out"), Contains("llama") && Contains("tokenizer.model"));
  CHECK(read_file(dir / "out" / "tokenizer.model") == read_file(dir / "tokenizer.model"));
  CHECK(json_of(dir / "out" / "config.json").at("bos_token_id") == 1);
  CHECK(json_of(dir / "out" / "config.json").at("eos_token_id") == 2);
}
