// SPDX-License-Identifier: Apache-2.0
// RunningTasks: the jobs of which an attempt runs, each with a descriptor that tells of the end of
// its keeper.
#pragma once

#include <span>
#include <vector>

#include <poll.h>
#include <sys/types.h>

#include "ledger.h"
#include "tasks.h"

namespace trivet::local {

class RunningTasks {
 public:
  struct Running {
    UnitTasks* unit;
    Task* task;
  };
  struct Ended {
    bool is_quiet = false;  // the time was up, and nothing has happened
    std::vector<Running> tasks;
  };

  RunningTasks() = default;
  RunningTasks(const RunningTasks&) = delete;
  RunningTasks& operator=(const RunningTasks&) = delete;
  ~RunningTasks();

  // From now on it runs. `keeper` is 0 as long as it is not known who keeps it.
  void watch(UnitTasks& unit, Task& task, pid_t keeper);
  void remove(Task& task);

  std::size_t size() const { return running_.size(); }
  bool has_unknown_keeper() const;
  // What they take of the machine.
  std::vector<Row> rows() const;

  // Waits for the first end of a keeper, or for one of `others`, whose revents it sets. Those
  // without a known keeper are told every time: somebody must look.
  Ended wait(std::span<pollfd> others, int milliseconds) const;

 private:
  static void forget_keeper(Task& task);

  std::vector<Running> running_;
};

}  // namespace trivet::local
