// SPDX-License-Identifier: Apache-2.0
#include "support/jobs.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace trivet::test {

launch::Job shell_job(const TempDir& dir, const std::string& script, const std::string& name) {
  launch::Job job;
  job.name = name;
  job.argv = {"/bin/sh", "-c", script};
  job.working_directory = dir.path();
  job.directory = dir.path() / "jobs" / name;
  return job;
}

launch::WorkUnit shell_unit(const TempDir& dir, std::int64_t wid, const std::string& script) {
  launch::WorkUnit unit;
  unit.wid = wid;
  unit.identity = std::to_string(wid);
  unit.directory = dir.path() / std::to_string(wid);
  launch::Job job = shell_job(dir, script);
  job.directory = unit.directory / "jobs" / job.name;
  unit.jobs.push_back(job);
  return unit;
}

int wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("no such child");
  }
  return status;
}

bool wait_until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

launch::AttemptInfo finish(const launch::Job& job, std::int64_t attempt,
                           const launch::AttemptOptions& options) {
  wait_for_child(launch::start_attempt(job, attempt, options));
  return launch::read_attempt(job, attempt);
}

pid_t in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in a child of the test: %s\n", error.what());
    ::_exit(99);
  }
  ::_exit(0);
}

}  // namespace trivet::test
