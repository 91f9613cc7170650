// SPDX-License-Identifier: Apache-2.0
#include "running_tasks.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trivet/error.h"
#include "trivet/os/process.h"

namespace trivet::local {

RunningTasks::~RunningTasks() {
  for (const Running& running : running_) forget_keeper(*running.task);
}

void RunningTasks::watch(UnitTasks& unit, Task& task, pid_t keeper) {
  forget_keeper(task);
  if (!task.runs) running_.push_back({&unit, &task});
  task.runs = true;
  if (keeper == 0) return;
  task.row.owner = {keeper, start_ticks(keeper)};
  task.keeper_fd = static_cast<int>(::syscall(SYS_pidfd_open, keeper, 0));
}

void RunningTasks::remove(Task& task) {
  forget_keeper(task);
  task.runs = false;
  std::erase_if(running_, [&](const Running& running) { return running.task == &task; });
}

void RunningTasks::forget_keeper(Task& task) {
  if (task.keeper_fd >= 0) {
    ::close(task.keeper_fd);
    // A keeper that an earlier supervisor has started is no child; then this does nothing.
    ::waitpid(task.row.owner.pid, nullptr, WNOHANG);
  }
  task.keeper_fd = -1;
  task.row.owner = {};
}

bool RunningTasks::has_unknown_keeper() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const Running& one) { return one.task->keeper_fd < 0; });
}

std::vector<Row> RunningTasks::rows() const {
  std::vector<Row> rows;
  for (const Running& running : running_) rows.push_back(running.task->row);
  return rows;
}

RunningTasks::Ended RunningTasks::wait(std::span<pollfd> others, int milliseconds) const {
  std::vector<pollfd> files(others.begin(), others.end());
  for (const Running& one : running_) files.push_back({one.task->keeper_fd, POLLIN, 0});
  const int ready = ::poll(files.data(), files.size(), milliseconds);
  if (ready < 0 && errno != EINTR) {
    throw RunError("cannot wait for jobs: " + std::generic_category().message(errno));
  }
  Ended ended;
  ended.is_quiet = ready <= 0;
  for (std::size_t i = 0; i < others.size(); ++i) {
    others[i].revents = ended.is_quiet ? short{0} : files[i].revents;
  }
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const bool has_event = !ended.is_quiet && files[others.size() + i].revents != 0;
    if (running_[i].task->keeper_fd < 0 || has_event) ended.tasks.push_back(running_[i]);
  }
  return ended;
}

}  // namespace trivet::local
