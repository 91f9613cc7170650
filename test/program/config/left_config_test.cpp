// SPDX-License-Identifier: Apache-2.0
// The resolved config of a run is the config of that run, for trivet and for other readers.
#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"

namespace {

namespace fs = std::filesystem;
using trivet::test::config;
using trivet::test::quoted;
using trivet::test::ShellResult;
using trivet::test::TempDir;

nlohmann::json shown(const fs::path& file, const std::string& more = {}) {
  const ShellResult result =
      trivet::test::trivet("config show " + quoted(file.string()) + " --format json " + more);
  INFO(file << "\n" << result.output);
  REQUIRE(result.exit_code == 0);
  return nlohmann::json::parse(result.output);
}

}  // namespace

TEST_CASE("config.toml of a run resolves to the config of its start") {
  const TempDir folder;
  const std::string overrides = "mode=train trainer.train_steps=1 task.model.activation=nn/Tanh";
  const fs::path local = config("vision/local.toml");
  const ShellResult result = trivet::test::run(local, folder / "run", overrides);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const fs::path left = folder / "run" / "config.toml";
  CHECK(shown(left) == shown(local, overrides));
  CHECK(shown(left) != shown(local));

  const ShellResult again = trivet::test::run(left, folder / "again");
  INFO(again.output);
  REQUIRE(again.exit_code == 0);
  const fs::path model = "checkpoints/step_00000001/model.safetensors";
  CHECK((trivet::test::read_file(folder / "run" / model.string()) ==
         trivet::test::read_file(folder / "again" / model.string())));
}

TEST_CASE("another TOML reader reads config.toml of a run") {
  const std::string python = "/usr/bin/python3";
  if (trivet::test::shell(python + " -c 'import tomllib'").exit_code != 0) {
    WARN("skipped: " << python << " has no tomllib");
    return;
  }
  const TempDir folder;
  const ShellResult result = trivet::test::run(config("vision/local.toml"), folder / "run",
                                               "mode=train trainer.train_steps=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const fs::path left = folder / "run" / "config.toml";
  const ShellResult read = trivet::test::shell(
      python +
      " -c 'import json,sys,tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], "
      "\"rb\"))))' " +
      quoted(left.string()));
  INFO(read.output);
  REQUIRE(read.exit_code == 0);
  CHECK(nlohmann::json::parse(read.output) == shown(left));
}
