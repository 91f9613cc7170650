// SPDX-License-Identifier: Apache-2.0
// trivet export of a run that was trained here.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "run_fixture.h"
#include "safetensors_reader.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("a trained run is exported with the weights that evaluations use, and works as before") {
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
