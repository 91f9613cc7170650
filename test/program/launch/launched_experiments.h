// SPDX-License-Identifier: Apache-2.0
// Experiments of shell scripts, launched by the real program in a separate root, for end-to-end
// tests of orchestrators.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace trivet::test {

// Waits for a condition that another process fulfills.
bool comes_true(const std::function<bool()>& fact, int seconds = 60);

class Experiments {
 public:
  // `orchestrator` is the text of [xp.orchestrator]. `settings`, with a blank at its end, is added
  // to the program's environment.
  explicit Experiments(
      std::string orchestrator = "type = 'local/Orchestrator'\ncores = 2\ngrace = 1\n",
      std::string settings = {})
      : orchestrator_(std::move(orchestrator)), settings_(std::move(settings)) {}
  // Ends all processes of the test.
  ~Experiments();
  Experiments(const Experiments&) = delete;
  Experiments& operator=(const Experiments&) = delete;

  // Independent of this user's other experiments: uses another ledger.
  ShellResult trivet(const std::string& words) const;

  // Launches jobs that are /bin/sh -c SCRIPT {wu_dir} --n=N, N = 1 to `units`. `job` is added to
  // [xp.jobs.main] and may contain further tables.
  ShellResult launch(const std::string& script, int units, const std::string& more = {},
                     const std::string& job = {}) const;

  nlohmann::json status(const std::string& id = "1") const;
  // Units in this state.
  int count(const std::string& state) const;
  bool all_are(const std::string& state) const;
  nlohmann::json job(int wid, const std::string& name = "main") const;
  std::string state(int wid, const std::string& name = "main") const;
  // "--xid=1 " once a launch has taken the number, even if it did not complete.
  std::string into_first() const;
  // Sends SIGKILL to the running supervisor of the first experiment, if any.
  void kill_supervisor() const;
  // The output of a unit's jobs in its directory.
  std::filesystem::path unit_file(int wid, const std::string& name) const;

  TempDir folder;
  std::filesystem::path root = folder / "root";

 private:
  std::string orchestrator_, settings_;
};

}  // namespace trivet::test
