// SPDX-License-Identifier: Apache-2.0
//
// The supervisor of an experiment: a process without a terminal, `trivet supervise XP_DIR`, in
// which an orchestrator works until every job has ended. In the experiment's directory:
//
//   supervisor.lock   held (fcntl, F_SETLK) by the one that works
//   supervisor.json   {"pid", "boot_id", "host", "started", "time"}; `time` is its heartbeat
//   supervisor.log    what it had to say
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/tree/config_catalog.h"
#include "trivet/os/file.h"

namespace trivet {

// Starts one unless one is at work, and returns when it is at work or has ended. It has its own
// session, so it outlives the terminal. Throws RunError when it cannot be started.
void start_supervisor(const std::filesystem::path& experiment,
                      const std::vector<std::string>& plugin_dirs);

bool has_supervisor_at_work(const std::filesystem::path& experiment);

// In this process, until there is nothing left to do or SIGTERM comes. Returns at once when another
// one is at work. `ready` is closed when supervisor.json tells of this one, or of nothing more.
void supervise(const std::filesystem::path& experiment, ConfigCatalog& catalog,
               UniqueFd ready = {});

}  // namespace trivet
