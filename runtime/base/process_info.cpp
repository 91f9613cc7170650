// SPDX-License-Identifier: Apache-2.0
#include "base/process_info.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace trivet {
namespace {

double seconds(const timespec& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

double now(clockid_t clock) {
  timespec t = {};
  ::clock_gettime(clock, &t);
  return seconds(t);
}

}  // namespace

double seconds_since_process_start() {
  const std::int64_t start = start_ticks(::getpid());
  if (start == 0) return 0;
  const auto per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return now(CLOCK_BOOTTIME) - static_cast<double>(start) / per_second;
}

double steady_seconds() {
  return now(CLOCK_MONOTONIC);
}

ProcessUsage process_usage() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return {.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .page_faults = usage.ru_minflt + usage.ru_majflt,
          .peak_resident_bytes = usage.ru_maxrss * std::int64_t{1024}};
}

std::filesystem::path own_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

}  // namespace trivet
