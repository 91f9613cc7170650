// SPDX-License-Identifier: Apache-2.0
// Runs `trivet run` after the config is resolved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "config/resolver.h"
#include "processes/world.h"
#include "profile/step_profile.h"
#include "run/run_view.h"

namespace trivet {

struct RunRequest {
  ResolvedConfig config;
  std::filesystem::path workdir;  // empty: the next ROOT/N-NAME/
  std::filesystem::path root = "runs";
  std::string name;    // NAME if the config has none: the stem of its file
  std::string source;  // for messages: "configs/vision/local.toml"
  // Mode eval: the checkpoint to evaluate. Unset: the newest.
  std::optional<std::int64_t> step;
  // Mode continuous_eval: the name of one of several evaluations. May be empty.
  std::string evaluation;
  // The steps of the training to profile.
  std::optional<StepRange> profile{};
  // Set to the reason if an action has ended the training before its last step. May be null.
  std::string* stop_reason = nullptr;
  // The processes of mesh.processes, of which this is one. Null: this process is alone.
  World* world = nullptr;
  // Set to the directory of the run, or of an evaluation of it. May be null.
  std::filesystem::path* directory = nullptr;
};

// What run_command refuses before it opens a device. Throws ConfigError.
void check_config(const ResolvedConfig& config);

// Runs until done or until a signal. Returns the exit code: 0 if done, 130 after SIGINT and 75
// after SIGTERM, SIGUSR1 or SIGHUP, both with a saved checkpoint. Throws Error on failure;
// status.json then says "failed". Throws ConfigError for an invalid config before anything is
// created. Loads the plugins that the config names through the registries. Installs signal handlers
// while it runs. [main-thread]
int run_command(const RunRequest& request, RunView& view);

}  // namespace trivet
