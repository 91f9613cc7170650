// SPDX-License-Identifier: Apache-2.0
// Checkpoints with quantized weights: trivet ckpt convert --quantize, and the commands that read
// them.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace quantized_test {

namespace test = trivet::test;
using Catch::Contains;
using nlohmann::json;
using test::config, test::quoted, test::run, test::TempDir;
namespace fs = std::filesystem;

namespace {

test::ShellResult start(const fs::path& workdir, const std::string& more) {
  return run(config("vision/local.toml"), workdir,
             "task.model.hidden_dims=[64] task.eval_input.examples=256 runtime.threads=1 " + more);
}

test::ShellResult ckpt(const std::string& words) {
  return test::trivet("ckpt " + words);
}

// Converts the run to `name` in its directory.
test::ShellResult quantize(const fs::path& workdir, const std::string& name,
                           const std::string& options) {
  return ckpt("convert " + quoted((workdir / name).string()) + " " + quoted(workdir.string()) +
              " " + options);
}

double loss_of(const fs::path& workdir, const std::string& more) {
  const auto result = start(workdir, "--mode eval " + more);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return test::records(workdir, "eval").back().at("values").at("validation_loss");
}

}  // namespace

TEST_CASE("a quantized checkpoint evaluates as the weights that FakeQuantization rounds") {
  const TempDir temp;
  REQUIRE(start(temp / "run", "trainer.train_steps=20 --mode train").exit_code == 0);
  const std::string from = "task.init_checkpoint=";
  const double exact = loss_of(temp / "exact", from + quoted((temp / "run").string()));
  for (const std::string bits : {"8", "4"}) {
    const auto made = quantize(temp / "run", "int" + bits, "--quantize " + bits);
    INFO(made.output);
    REQUIRE(made.exit_code == 0);
    CHECK_THAT(made.output, Contains("4 tensors of step 20, 2 quantized"));
    const std::string stored = quoted((temp / "run" / ("int" + bits)).string());
    const double loss = loss_of(temp / ("stored" + bits), from + stored);
    CHECK(loss != exact);
    CHECK(loss == loss_of(temp / ("rounded" + bits),
                          from + quoted((temp / "run").string()) +
                              " task.model.parametrization.type=nn/FakeQuantization "
                              "task.model.parametrization.bits=" +
                              bits));
    // Weights of 256 x 64 and 64 x 10 numbers, and less than 4 KiB of all else.
    const auto bytes = fs::file_size(temp / "run" / ("int" + bits) / "model.safetensors");
    CHECK(bytes < 17024 * std::stoul(bits) / 8 + 4096);
  }

  const json info =
      json::parse(ckpt("info " + quoted((temp / "run/int8").string()) + " --json").output);
  std::string forms;
  for (const json& tensor : info.at("tensors")) {
    forms += tensor.at("name").get<std::string>() + " " + tensor.at("dtype").get<std::string>() +
             " " + tensor.at("shape").dump() + "; ";
  }
  CHECK(forms ==
        "hidden_0/w i8 [256,64]; hidden_0/w_quantized_scale f32 [64]; hidden_0/b f32 [64]; "
        "output/w i8 [64,10]; output/w_quantized_scale f32 [10]; output/b f32 [10]; ");
  CHECK(ckpt("verify " + quoted((temp / "run/int8").string())).exit_code == 0);

  // Without --quantize the numbers are floats again.
  REQUIRE(ckpt("convert " + quoted((temp / "run/plain").string()) + " " +
               quoted((temp / "run/int8").string()))
              .exit_code == 0);
  CHECK(loss_of(temp / "plain", from + quoted((temp / "run/plain").string())) ==
        loss_of(temp / "again", from + quoted((temp / "run/int8").string())));

  // The mean of a checkpoint with itself, one of them with integers of 8 bits, is half rounded.
  REQUIRE(ckpt("average " + quoted((temp / "run/mean").string()) + " " +
               quoted((temp / "run/int8").string()) + " " +
               quoted((temp / "run/checkpoints/step_00000020").string()))
              .exit_code == 0);
  REQUIRE(ckpt("average " + quoted((temp / "run/same").string()) + " " +
               quoted((temp / "run/plain").string()) + " " +
               quoted((temp / "run/checkpoints/step_00000020").string()))
              .exit_code == 0);
  CHECK(test::read_file(temp / "run/mean/model.safetensors") ==
        test::read_file(temp / "run/same/model.safetensors"));
}

TEST_CASE("options of --quantize choose tensors and axes, or are refused") {
  const TempDir temp;
  REQUIRE(start(temp / "run", "trainer.train_steps=2 --mode train").exit_code == 0);
  REQUIRE(quantize(temp / "run", "some",
                   "--quantize 8 --quantize-only 'output/.*w' --quantize-rows 'output/w' --rename "
                   "'output/(.*)=head/$1' --dtype bf16")
              .exit_code == 0);
  const json info =
      json::parse(ckpt("info " + quoted((temp / "run/some").string()) + " --json").output);
  CHECK(info.at("tensors").at(0).at("dtype") == "bf16");
  CHECK(info.at("tensors").at(2).at("name") == "head/w");
  CHECK(info.at("tensors").at(2).at("dtype") == "i8");
  CHECK(info.at("tensors").at(3).at("name") == "head/w_quantized_scale");
  CHECK(info.at("tensors").at(3).at("shape").dump() == "[64,1]");
  CHECK(info.at("tensors").at(3).at("dtype") == "f32");

  const auto refused = [&](const std::string& options, int code) {
    const auto result = quantize(temp / "run", "bad", options);
    CHECK(result.exit_code == code);
    CHECK_FALSE(fs::exists(temp / "run/bad"));
    return result.output;
  };
  CHECK_THAT(refused("--quantize 5", 2), Contains("--quantize takes 8 or 4, not '5'"));
  CHECK_THAT(refused("--quantize-only '.*'", 2), Contains("need --quantize"));
  CHECK_THAT(refused("--quantize 8 --quantize-only 'none'", 2),
             Contains("--quantize-only 'none' matches no tensor"));
  CHECK_THAT(refused("--quantize 8 --quantize-only '.*'", 1),
             Contains("--quantize-only matches 'hidden_0/b', which is f32 [64]"));
  CHECK_THAT(refused("--quantize 8 --quantize-rows 'output/b'", 2),
             Contains("--quantize-rows 'output/b' matches no tensor"));
  CHECK_THAT(ckpt("ls " + quoted((temp / "run").string()) + " --quantize 8").output,
             Contains("--quantize is an option of 'trivet ckpt convert'"));
}

TEST_CASE("a run does not resume from quantized weights") {
  const TempDir temp;
  REQUIRE(start(temp / "run", "trainer.train_steps=5 trainer.checkpoint_interval=0 --mode train")
              .exit_code == 0);
  REQUIRE(quantize(temp / "run", "int8", "--quantize 8").exit_code == 0);
  const fs::path step = temp / "run/checkpoints/step_00000005";
  fs::remove_all(step);
  fs::rename(temp / "run/int8", step);
  const auto resumed = start(temp / "run", "trainer.train_steps=10 --mode train");
  CHECK(resumed.exit_code != 0);
  CHECK_THAT(resumed.output,
             Contains("state.json lacks 'trainer'") && Contains("task.init_checkpoint"));
}

}  // namespace quantized_test
