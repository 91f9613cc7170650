// SPDX-License-Identifier: Apache-2.0
// Experiments on a cluster of scripts, which have the names of Slurm's commands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>

#include "program/launch/launched_experiments.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

namespace trivet::test {

// Commands of a cluster that accepts every job, starts with array 7, and lists the file `queue`.
class FakeSlurm {
 public:
  FakeSlurm() {
    set("sbatch", "case \"$*\" in *--test-only*) exit 0;; esac; echo \"$@\" >> " + file("calls") +
                      "; echo 7");
    // A script queries the state of its job.
    set("squeue", "case \"$*\" in *--jobs=*) cat " + file("state") + "; exit;; esac; cat " +
                      file("queue") + " 2>/dev/null; exit 0");
    set("scancel", "echo \"$@\" >> " + file("scancelled"));
    set("scontrol",
        "case $1 in ping) echo 'Slurmctld(primary) at c is UP';; "
        "show) echo 'MaxArraySize            = 1001';; requeue) echo \"$@\" >> " +
            file("requeued") + "; kill $PPID;; esac");
  }
  void set(const std::string& command, const std::string& script) const {
    const std::filesystem::path path = folder.write(command, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  std::string file(const std::string& name) const { return (folder / name).string(); }
  std::string settings() const { return "PATH=" + quoted(folder.path().string()) + ":$PATH "; }
  // The number of submissions of a job.
  std::ptrdiff_t calls() const {
    if (!std::filesystem::exists(file("calls"))) return 0;
    const std::string text = read_file(file("calls"));
    return std::count(text.begin(), text.end(), '\n');
  }
  // The requests of scripts.
  std::string requeued() const {
    return std::filesystem::exists(file("requeued")) ? read_file(file("requeued")) : "";
  }
  // The name of the last job.
  std::string name() const {
    const std::string text = read_file(file("calls")), option = "--job-name=";
    const auto begin = text.rfind(option) + option.size();
    return text.substr(begin, text.find(' ', begin) - begin);
  }

  TempDir folder;
};

struct FakeExperiments {
  explicit FakeExperiments(const std::string& settings = {})
      : at("type = 'slurm/Orchestrator'\npartition = 'p'\ntimeout = 20\n",
           slurm.settings() + settings) {}
  // Lets the experiment detect that no work is left.
  ~FakeExperiments() {
    slurm.set("squeue", "exit 0");
    slurm.set("scancel", "exit 0");
    slurm.set("scontrol", "echo 'Slurmctld(primary) at c is UP'");
  }
  FakeSlurm slurm;
  Experiments at;

  ShellResult launch(const std::string& more = {}) const { return at.launch("true", 2, more); }
  // The one entry of the queue.
  void set_queue(const std::string& state) const {
    slurm.folder.write("queue", "7|0|" + state + "|None|n1|" + slurm.name() + "\n");
  }
  // Runs task 0 of the first array like Slurm. `settings` are those of the script's bash.
  std::string script(const std::string& settings = {}) const {
    return slurm.settings() + "SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=0 " + settings + "bash " +
           quoted((at.root / "1/slurm/1/sbatch.sh").string());
  }
};

}  // namespace trivet::test
