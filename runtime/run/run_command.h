// SPDX-License-Identifier: Apache-2.0
// One run: everything behind `trivet run` once the config is resolved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "config/resolver.h"
#include "run/run_view.h"

namespace trivet {

struct RunRequest {
  ResolvedConfig config;
  std::filesystem::path workdir;  // empty: the next ROOT/N-NAME/
  std::filesystem::path root = "runs";
  std::string name;    // NAME when the config has none: the stem of its file
  std::string source;  // for people: "configs/vision/local.toml"
  // Mode eval: the checkpoint that is evaluated; the newest where it is not set.
  std::optional<std::int64_t> step;
};

// Runs to the end, or to a signal. Returns the exit code: 0 done, 130 after SIGINT and 75 after
// SIGTERM, SIGUSR1 or SIGHUP, both with a checkpoint saved. Throws Error for everything that went
// wrong; the run's status.json says "failed" by then. A config that cannot work throws ConfigError
// before anything is created. Plugins that the config names are loaded through the registries.
// Installs signal handlers for its duration. [main-thread]
int run_command(const RunRequest& request, RunView& view);

}  // namespace trivet
