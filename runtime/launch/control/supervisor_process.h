// SPDX-License-Identifier: Apache-2.0
// The supervisor of an experiment: a process without a terminal, `trivet supervise XP_DIR`, in
// which an orchestrator runs until every job has ended. Files in the experiment's directory:
//
//   supervisor.lock   held (fcntl, F_SETLK) by the running supervisor
//   supervisor.json   {"pid", "boot_id", "host", "started", "time"}; `time` is its heartbeat
//   supervisor.log    messages of the supervisor
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/tree/config_catalog.h"
#include "trivet/os/file.h"

namespace trivet {

// Starts a supervisor unless one is running. Returns once it is running or has ended. The
// supervisor has its own session, so it outlives the terminal. Throws RunError if it cannot be
// started.
void start_supervisor(const std::filesystem::path& experiment,
                      const std::vector<std::string>& plugin_dirs);

bool has_supervisor_at_work(const std::filesystem::path& experiment);

// Supervises in this process until nothing is left to do or SIGTERM arrives. Returns at once if
// another supervisor is running. Closes `ready` once supervisor.json names this process, or if
// there is nothing to do.
void supervise(const std::filesystem::path& experiment, ConfigCatalog& catalog,
               UniqueFd ready = {});

}  // namespace trivet
