// SPDX-License-Identifier: Apache-2.0
// SlurmCluster: a real Slurm for tests on this machine: munged, slurmctld and one slurmd per
// virtual node, in their own folder and on free ports. All are children of the test and die with
// it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/shell.h"

namespace trivet::test {

class SlurmCluster {
 public:
  // The Slurm program that is not installed; empty if all are.
  static std::string missing();

  // Starts it and waits until all nodes are idle: n1, n2, ..., of `cores` each, in the partitions
  // "main" and "low"; jobs of main preempt those of low. `settings` are more lines of slurm.conf.
  // Throws if it does not start.
  explicit SlurmCluster(int nodes = 3, int cores = 2, const std::string& settings = {});
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  // "SLURM_CONF=... ", for the environment of its users.
  std::string settings() const;
  // Runs one of Slurm's commands: "squeue -h".
  ShellResult command(const std::string& words) const;

  // Ends the controller. After SIGTERM it restores its full state at the next start; after SIGKILL,
  // only the state saved by then.
  void stop_controller(int signal);
  void start_controller();
  // Kills what runs on a node, n1 for 1, as when its machine loses power; and starts it again.
  void kill_node(int number);
  // Kills its daemon alone: its jobs continue, and Slurm knows nothing of them.
  void kill_daemon(int number);
  void start_node(int number);
  // The time of the controller's last save, some seconds after a change.
  std::filesystem::file_time_type jobs_saved_at() const;

 private:
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  void write_config(int nodes, int cores, const std::string& settings) const;
  pid_t start(const std::vector<std::string>& words);
  static void end(pid_t process, int signal);
  std::vector<pid_t> ours() const;
  void kill_jobs() const;

  TempDir folder_;
  std::vector<pid_t> daemons_;
  std::vector<pid_t> nodes_;  // 0: killed
  pid_t controller_ = 0;
};

}  // namespace trivet::test
