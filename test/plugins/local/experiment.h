// SPDX-License-Identifier: Apache-2.0
// An experiment for tests of the local orchestrator: units of shell scripts, records in files, and
// its own ledger, so that other experiments on the machine do not matter.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "local/local_orchestrator.h"
#include "support/file_records.h"
#include "support/jobs.h"
#include "support/shell.h"

namespace trivet::test {

class LocalExperiment {
 public:
  explicit LocalExperiment(std::vector<std::string> scripts = {}) {
    ::setenv("XDG_RUNTIME_DIR", dir.path().c_str(), 1);
    // More than any test uses, on any machine.
    config.cores = 64;
    for (std::string& script : scripts) add_unit(std::move(script));
  }

  launch::WorkUnit& add_unit(std::string script) {
    units.push_back(shell_unit(dir, std::ssize(units) + 1, script));
    return units.back();
  }
  // Adds one to the last unit.
  launch::Job& add_job(const std::string& name, const std::string& script) {
    launch::Job job = shell_job(dir, script, name);
    job.directory = units.back().directory / "jobs" / name;
    units.back().jobs.push_back(std::move(job));
    return units.back().jobs.back();
  }

  FileRecords records() const { return FileRecords(dir.path(), units); }

  // Runs `body` on an orchestrator for it.
  template <class Body>
  void with(launch::UnitRecords& records, Body&& body) {
    launch::OrchestratorContext context{dir.path(), records, [] {}};
    local::LocalOrchestrator orchestrator(config, context);
    body(orchestrator);
  }

  // Supervises until all has ended, or until `should_stop`.
  void supervise(std::function<bool()> should_stop = [] { return false; }) {
    FileRecords own = records();
    with(own, [&](launch::Orchestrator& orchestrator) {
      orchestrator.supervise({.should_stop = std::move(should_stop), .wake_fd = -1});
    });
  }
  // The same in a child process, whose end is the caller's to wait for.
  pid_t start_supervisor() {
    return in_child([this] { supervise(); });
  }

  launch::JobState state(std::int64_t wid, const std::string& job = "main") const {
    return records().state(wid, job);
  }
  launch::JobStatus status(std::int64_t wid, const std::string& job = "main") const {
    return records().status(wid, job);
  }
  bool has(const std::string& file) const { return std::filesystem::exists(dir / file); }
  std::string text(const std::string& file) const { return read_file(dir / file); }

  TempDir dir;
  local::LocalConfig config;
  std::vector<launch::WorkUnit> units;
};

}  // namespace trivet::test
