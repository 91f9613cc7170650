// SPDX-License-Identifier: Apache-2.0
// samples.jsonl of a language model's run: it contains every evaluation once, even if the run is
// killed at any point.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "run_fixture.h"
#include "support/disk/slow_disk.h"
#include "support/shell.h"

namespace samples_test {

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

ShellResult train(const TempDir& temp, const fs::path& workdir, const std::string& settings = {}) {
  return run(config("lm/local.toml"), workdir,
             "'task.train_input.files=[\"" + (temp / "text.txt").string() +
                 "\"]' 'task.eval_input.files=[\"" + (temp / "text.txt").string() +
                 "\"]' task.model.model_dims=16 task.model.num_heads=1 task.model.num_layers=1 "
                 "task.model.max_seq_len=32 task.train_input.seq_len=16 "
                 "task.eval_input.seq_len=16 task.decode.max_decode_steps=4 "
                 "'task.sample_prompts=[\"a\",\"b\"]' trainer.train_steps=12 "
                 "trainer.steps_per_loop=2 trainer.validation_interval=4 "
                 "trainer.checkpoint_interval=6 trainer.checkpoint_async=false runtime.threads=1",
             settings);
}

}  // namespace

TEST_CASE("a run killed at any call to its samples or metrics holds every sample once",
          "[slow][nosan]") {
  const TempDir temp;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "a plain text of some words, ";
  temp.write("text.txt", text);
  REQUIRE(train(temp, temp / "alone").exit_code == 0);
  const std::string alone = read_file(temp / "alone" / "samples.jsonl");
  REQUIRE(std::count(alone.begin(), alone.end(), '\n') == 6);
  int killed = 0;
  for (const char* const file : {"samples.jsonl", "metrics.jsonl"}) {
    for (std::uint64_t call = 2; call <= 12; ++call) {
      INFO(file << ", call " << call);
      const fs::path workdir = temp / (file + std::to_string(call));
      const SlowDisk disk{.below = workdir / file, .kill = call};
      if (train(temp, workdir, disk.prefix()).exit_code != 128 + SIGKILL) continue;
      ++killed;
      // The remains of an incomplete write.
      if (fs::exists(workdir / "samples.jsonl")) {
        std::ofstream(workdir / "samples.jsonl", std::ios::app) << "{\"step\":";
      }
      const ShellResult again = train(temp, workdir);
      INFO(again.output);
      REQUIRE(again.exit_code == 0);
      CHECK(read_file(workdir / "samples.jsonl") == alone);
    }
  }
  CHECK(killed > 12);
}

}  // namespace samples_test
