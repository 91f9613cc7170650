// SPDX-License-Identifier: Apache-2.0
// MeshRuns: runs of configs/lm/local.toml that differ in their mesh and number of processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/shell.h"

namespace trivet::test {

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

// Of the last line of metrics.
inline double last_loss(const std::filesystem::path& workdir) {
  return records(workdir, "train").back().at("values").at("training_loss").get<double>();
}

}  // namespace trivet::test
