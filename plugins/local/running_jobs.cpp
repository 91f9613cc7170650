// SPDX-License-Identifier: Apache-2.0
#include "running_jobs.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/os/process.h"

namespace trivet::local {

RunningJobs::~RunningJobs() {
  for (const Running& running : running_) forget_shim(*running.tracked);
}

void RunningJobs::watch(UnitJobs& unit, TrackedJob& tracked, pid_t shim) {
  forget_shim(tracked);
  if (!tracked.runs) running_.push_back({&unit, &tracked});
  tracked.runs = true;
  if (shim == 0) return;
  tracked.allocation.owner = {shim, start_ticks(shim)};
  tracked.shim_fd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, shim, 0)));
}

void RunningJobs::remove(TrackedJob& tracked) {
  forget_shim(tracked);
  tracked.runs = false;
  std::erase_if(running_, [&](const Running& running) { return running.tracked == &tracked; });
}

void RunningJobs::forget_shim(TrackedJob& tracked) {
  // A shim that an earlier supervisor has started is no child; then this does nothing.
  if (tracked.shim_fd) ::waitpid(tracked.allocation.owner.pid, nullptr, WNOHANG);
  tracked.shim_fd = UniqueFd();
  tracked.allocation.owner = {};
}

bool RunningJobs::has_unknown_shim() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const Running& one) { return !one.tracked->shim_fd; });
}

std::vector<Allocation> RunningJobs::allocations() const {
  std::vector<Allocation> allocations;
  for (const Running& running : running_) allocations.push_back(running.tracked->allocation);
  return allocations;
}

RunningJobs::Ended RunningJobs::wait(std::span<pollfd> others, int milliseconds) const {
  std::vector<pollfd> files(others.begin(), others.end());
  for (const Running& one : running_) files.push_back({one.tracked->shim_fd.get(), POLLIN, 0});
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
    if (!running_[i].tracked->shim_fd || has_event) ended.jobs.push_back(running_[i]);
  }
  return ended;
}

}  // namespace trivet::local
