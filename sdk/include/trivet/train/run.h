// SPDX-License-Identifier: Apache-2.0
// run(): a whole run inside another program, as `trivet run` does it: the same config, directory,
// checkpoints and records. It is in the library trivet-host (pkg-config trivet-host).
//
// Example (sdk/examples/embedded_run.cpp#run):
//
//   trivet::RunOptions options;
//   options.config = config;
//   options.overrides = {"trainer.train_steps=100"};
//   options.workdir = workdir;
//   options.on_line = [](std::string_view line) { std::cout << line << '\n'; };
//   const trivet::RunResult result = trivet::run(options);
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config/value.h"
#include "trivet/experiment.h"

namespace trivet {

struct RunOptions {
  // A config file, or an experiment that the program has built, but not both.
  std::filesystem::path config{};
  std::optional<ExperimentConfig> experiment{};
  std::vector<std::string> overrides{};  // such as "trainer.train_steps=100"
  // The run's directory; an existing run continues. Empty: the next ROOT/N-NAME.
  std::filesystem::path workdir{};
  std::filesystem::path root = "runs";
  // Folders to search first for plugins. Then those of `trivet run`, and that of the library
  // trivet-host.
  std::vector<std::filesystem::path> plugin_dirs{};
  // Gets what `trivet run` prints to a file, without the ends of lines, and warnings. May be empty.
  // Its exceptions are ignored: the run does not depend on it. [run-thread]
  std::function<void(std::string_view line)> on_line{};
};

struct RunResult {
  int exit_code = 0;  // 0: done; 130 or 75: a signal has stopped the run, and it has saved
  std::filesystem::path directory;
  Value summary;  // of summary.json: state, step, train, eval, ... Null if the run wrote none
};

// Runs until done or until a signal. Throws ConfigError and UsageError for what is wrong with the
// options, before anything is written, and the errors of a run; records of a run that failed are in
// its directory. While it works, it handles the signals that `trivet run` handles, and the process
// has one run at a time. [main-thread]
TRIVET_API RunResult run(const RunOptions& options);

}  // namespace trivet
