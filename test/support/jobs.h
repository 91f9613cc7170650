// SPDX-License-Identifier: Apache-2.0
// Jobs for tests: shell scripts in their own directory.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "support/shell.h"
#include "trivet/launch/attempt.h"
#include "trivet/launch/job.h"

namespace trivet::test {

// Runs `script` with /bin/sh in `dir`; its attempts are in dir/jobs/NAME/.
launch::Job shell_job(const TempDir& dir, const std::string& script,
                      const std::string& name = "main");

// One unit of one job, in dir/WID/.
launch::WorkUnit shell_unit(const TempDir& dir, std::int64_t wid, const std::string& script);

// Waits for the end of a child; returns waitpid()'s status.
int wait_for_child(pid_t child);

// Waits until it is true; returns false after a minute.
bool wait_until(const std::function<bool()>& condition);

// Starts an attempt and waits for its end.
launch::AttemptInfo finish(const launch::Job& job, std::int64_t attempt = 1,
                           const launch::AttemptOptions& options = {});

// Runs `body` in a child process, which exits with 0, or with 99 if it throws.
pid_t in_child(const std::function<void()>& body);

}  // namespace trivet::test
