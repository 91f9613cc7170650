// SPDX-License-Identifier: Apache-2.0
// SlurmCluster: a real Slurm for tests, with nothing but this machine: munged, slurmctld and a
// slurmd for each of some virtual nodes, in a folder of their own and on free ports. All of them
// are children of the test and die with it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "support/shell.h"

namespace trivet::test {

class SlurmCluster {
 public:
  // Which program of Slurm's is not installed; empty when all are there.
  static std::string missing();

  // Starts it and waits until all nodes are idle: n1, n2, ..., of `cores` each, in the partitions
  // "main" and "low"; jobs of main preempt those of low. Throws when it does not come up.
  explicit SlurmCluster(int nodes = 3, int cores = 2);
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  // "SLURM_CONF=... ", for the environment of whoever uses it.
  std::string settings() const;
  // Runs one of Slurm's commands: "squeue -h".
  ShellResult command(const std::string& words) const;

  // SIGTERM as an administrator: what it knows is there again after the next start. After SIGKILL,
  // what it had saved by then.
  void stop_controller(int signal);
  void start_controller();
  // When the controller last saved its jobs. It does so some seconds after a change.
  std::filesystem::file_time_type jobs_saved_at() const;

 private:
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  void write_config(int nodes, int cores) const;
  pid_t start(const std::vector<std::string>& words);
  static void end(pid_t process, int signal);
  void kill_jobs() const;

  TempDir folder_;
  std::vector<pid_t> daemons_;
  pid_t controller_ = 0;
};

}  // namespace trivet::test
