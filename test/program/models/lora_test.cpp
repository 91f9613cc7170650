// SPDX-License-Identifier: Apache-2.0
// A language model is fine-tuned with only LoRA and exported with merged weights.
#include <algorithm>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "safetensors_reader.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string kThin =
    "'task.model.block_tpl={type=\"nn/TransformerBlock\", lora={rank=2, "
    "layers=[\"query\", \"value\", \"out\"]}}' 'task.init_load.ignore=[\".*/lora_[ab]\"]' "
    "trainer.learning_rate=0.01 ";

bool is_thin(const std::string& name) {
  return name.ends_with("/lora_a") || name.ends_with("/lora_b");
}

}  // namespace

TEST_CASE("LoRA tunes low-rank matrices, leaves the weights alone, and is exported merged",
          "[slow]") {
  const TempDir dir;
  const double alpha = GENERATE(0.0, 8.0);  // 0: the rank
  const double factor = alpha > 0 ? alpha / 2 : 1;
  const auto start = [&](const std::string& name, const std::string& more) {
    return run(config("lm/local.toml"), dir / name,
               "mode=train runtime.threads=1 trainer.train_steps=8 " + more);
  };
  REQUIRE(start("first", "").exit_code == 0);
  const std::string from = kThin + "task.model.block_tpl.lora.alpha=" + std::to_string(alpha) +
                           " task.init_checkpoint=" + quoted((dir / "first").string()) + " ";
  const ShellResult tuned = start("tuned", from + "'trainer.trainable=[\".*/lora_[ab]\"]'");
  INFO(tuned.output);
  REQUIRE(tuned.exit_code == 0);

  const fs::path step = fs::path("checkpoints") / "step_00000008";
  const auto before = read_safetensors(dir / "first" / step / "model.safetensors");
  const auto after = read_safetensors(dir / "tuned" / step / "model.safetensors");
  std::size_t thin = 0;
  for (const auto& [name, tensor] : after) {
    INFO(name);
    if (!is_thin(name)) {
      CHECK(tensor.values == before.at(name).values);
      continue;
    }
    ++thin;
    CHECK(std::any_of(tensor.values.begin(), tensor.values.end(), [](float v) { return v != 0; }));
  }
  CHECK(thin == 2 * 3 * 2);  // blocks, products, matrices
  CHECK(after.size() == before.size() + thin);
  // The optimizer has no state for weights that are not trained.
  for (const auto& [name, tensor] :
       read_safetensors(dir / "tuned" / step / "optimizer.safetensors")) {
    CHECK_THAT(name, Contains("/lora_"));
  }

  const auto trivet_on = [&](const std::string& command, const std::string& more) {
    const ShellResult result = trivet::test::trivet(command + " " + more);
    INFO(command << " " << more << ": " << result.output);
    REQUIRE(result.exit_code == 0);
    return result.output;
  };
  const auto path = [&](const char* name) { return quoted((dir / name).string()); };
  trivet_on("export", path("tuned") + " -o " + path("out"));
  const auto written = read_safetensors(dir / "out" / "model.safetensors");
  // [d, 3 d]: query, key and value concatenated; the key has no LoRA.
  const auto& product = written.at("transformer.h.0.attn.c_attn.weight").values;
  const auto part = [&](std::size_t index) {
    return std::vector<float>(product.begin() + static_cast<std::ptrdiff_t>(64 * index),
                              product.begin() + static_cast<std::ptrdiff_t>(64 * (index + 1)));
  };
  const auto row = [&](const char* name) {
    const auto& values = after.at("transformer/layer_0/attention/" + std::string(name)).values;
    return std::vector<float>(values.begin(), values.begin() + 64);
  };
  CHECK(part(1) == row("key/w"));
  const auto &a = after.at("transformer/layer_0/attention/query/lora_a").values,
             &b = after.at("transformer/layer_0/attention/query/lora_b").values;
  std::vector<float> want = row("query/w");
  for (std::size_t i = 0; i < 64; ++i) {
    want[i] += static_cast<float>(factor) * (a[0] * b[i] + a[1] * b[64 + i]);
  }
  const std::vector<float> got = part(0);
  CHECK(got != row("query/w"));
  for (std::size_t i = 0; i < 64; ++i) CHECK(got[i] == Approx(want[i]).margin(1e-6));

  trivet_on("import", path("out") + " -o " + path("again"));
  const auto text = [&](const char* name, const std::string& more) {
    return trivet_on("generate", path(name) + " You -n 20 -t 0 " + more);
  };
  CHECK(text("again", "--set task.tokenizer=tokenizers/Bytes") == text("tuned", ""));

  // The set of trained variables cannot change during a run: the optimizer has no state for others.
  const ShellResult wider = start("tuned", from + "trainer.train_steps=9");
  CHECK(wider.exit_code == 2);
  CHECK_THAT(wider.output, Contains("trainer.trainable"));
}

// Both tasks have texts that start with "x"; only the task says how they continue.
TEST_CASE("adapters of tasks learn each part of a mixture, and texts are of the task that is set") {
  const TempDir dir;
  const auto part = [&](const char* name, const char* text, const char* task) {
    const fs::path file = dir.write(name, std::string("{\"text\": \"") + text + "\"}\n");
    return "{ source = { type = 'data/Jsonl', files = ['" + file.string() +
           "'] }, features = { text = '{text}', task = '" + task + "' } }";
  };
  const std::string input =
      "type = 'data/LanguageModel'\ntask_ids = '{task}'\nseq_len = 8\npack = false\n"
      "batch_size = 2\nsource = { type = 'data/Mixture', sources = [" +
      part("first.jsonl", "xaaaa", "0") + ", " + part("second.jsonl", "xbbbb", "1") + "] }\n";
  const fs::path file = dir.write(
      "config.toml",
      "seed = 1\n[runtime]\nthreads = 1\n[task]\ntype = 'lm/LanguageModeling'\n"
      "tokenizer = 'tokenizers/Bytes'\n[task.model]\ntype = 'lm/LanguageModel'\n"
      "model_dims = 16\nnum_layers = 1\nnum_heads = 2\nmax_seq_len = 16\n"
      "block_tpl = { type = 'nn/TransformerBlock', adapter_dims = 4, adapter_tasks = 2 }\n"
      "[task.train_input]\n" +
          input + "[task.eval_input]\n" + input +
          "[trainer]\ntrain_steps = 200\nlearning_rate = 0.01\noptimizer = 'optim/Adam'\n");
  const ShellResult trained = run(file, dir / "run");
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  const auto written = [&](const char* task) {
    return trivet::test::trivet("generate " + quoted((dir / "run").string()) +
                                " x -n 4 -t 0 --set task.model.block_tpl.adapter_task_id=" + task);
  };
  CHECK_THAT(written("0").output, Contains("aaaa"));
  CHECK_THAT(written("1").output, Contains("bbbb"));
  const ShellResult unset =
      trivet::test::trivet("generate " + quoted((dir / "run").string()) + " x -n 4");
  CHECK(unset.exit_code != 0);
  CHECK_THAT(unset.output, Contains("adapters of 2 tasks") && Contains("adapter_task_id"));

  // Examples that are predicted name their task, as those of training do.
  const fs::path examples = dir.write("examples.jsonl",
                                      "{\"text\": \"xaaaa\", \"task\": 0}\n"
                                      "{\"text\": \"xaaaa\", \"task\": 1}\n");
  const ShellResult predicted = trivet::test::trivet("predict " + quoted((dir / "run").string()) +
                                                     " --csv --input " + quoted(examples.string()));
  INFO(predicted.output);
  REQUIRE(predicted.exit_code == 0);
  CHECK_THAT(predicted.output, Contains("\n1,"));

  for (const char* how : {"", " --abstract"}) {
    const ShellResult checked = trivet::test::trivet("check " + quoted(file.string()) + how);
    INFO(how << checked.output);
    CHECK(checked.exit_code == 0);
  }
  const ShellResult decoded =
      run(file, dir / "run", "--mode decode task.model.block_tpl.adapter_task_id=0");
  INFO(decoded.output);
  CHECK(decoded.exit_code == 2);
  CHECK_THAT(decoded.output, Contains("remove task_ids from the set's input"));
}

TEST_CASE(
    "trained variables are selected in one way, and exports reject models that they cannot "
    "express") {
  const TempDir dir;
  const ShellResult both = run(config("lm/local.toml"), dir / "both",
                               "'trainer.trainable=[\".*\"]' 'trainer.frozen=[\".*/b\"]'");
  CHECK(both.exit_code == 2);
  CHECK_THAT(both.output, Contains("trainer.trainable") && Contains("is set, and frozen, too"));
  REQUIRE(run(config("lm/local.toml"), dir / "run",
              "mode=train runtime.threads=1 trainer.train_steps=1 "
              "'task.model.block_tpl={type=\"nn/TransformerBlock\", adapter_dims=4}'")
              .exit_code == 0);
  const ShellResult adapted = trivet::test::trivet("export " + quoted((dir / "run").string()) +
                                                   " -o " + quoted((dir / "out").string()));
  CHECK(adapted.exit_code == 2);
  CHECK_THAT(adapted.output, Contains("adapter_dims of the layer"));
  CHECK_FALSE(fs::exists(dir / "out"));
}
