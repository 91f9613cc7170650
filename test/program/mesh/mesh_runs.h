// SPDX-License-Identifier: Apache-2.0
// MeshRuns: runs of configs/lm/local.toml that differ in their mesh and number of processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/shell.h"

namespace trivet::test {

// For wide models: what processes exchange of them does not depend on the length of texts.
inline const std::string kShortTexts =
    "task.train_input.seq_len=32 task.eval_input.seq_len=32 task.model.max_seq_len=32 ";

class MeshRuns {
 public:
  // Each run has these overrides.
  explicit MeshRuns(std::string words) : words_(std::move(words)) {}

  std::filesystem::path workdir(const std::string& name) const { return dir_.path() / name; }
  // Trains so many steps; gives what the run printed.
  std::string train(const std::string& name, const std::string& words, std::int64_t steps) const {
    const ShellResult ran =
        run(config("lm/local.toml"), workdir(name),
            words_ + " " + words + " trainer.train_steps=" + std::to_string(steps));
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
    return ran.output;
  }
  // Likewise; gives what the run has computed.
  std::string results(const std::string& name, const std::string& words, std::int64_t steps) const {
    train(name, words, steps);
    return results_of(workdir(name), steps);
  }

 private:
  std::string words_;
  TempDir dir_;
};

// A run, and the numbers of processes that share it.
struct SharedRun {
  std::string words;
  std::vector<std::string> processes;
};

// That each of them computes what one process does in three steps.
inline void check_same_as_one(const SharedRun& of, const std::string& common) {
  CAPTURE(of.words);
  const MeshRuns runs(common);
  const std::string one = runs.results("one", of.words, 3);
  for (const std::string& count : of.processes) {
    CAPTURE(count);
    CHECK((runs.results(count, of.words + " --processes " + count, 3) == one));
  }
}

// Of the last line of metrics.
inline double last_loss(const std::filesystem::path& workdir) {
  return records(workdir, "train").back().at("values").at("training_loss").get<double>();
}

}  // namespace trivet::test
