// SPDX-License-Identifier: Apache-2.0
#include "train/process_info.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

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

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Field 22 of /proc/self/stat (proc(5)): ticks from boot to the start of the process. The second
// field, the program's name, may hold blanks and brackets, so counting starts behind it.
double process_start_since_boot() {
  const std::string line = first_line("/proc/self/stat");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return now(CLOCK_BOOTTIME);
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  return std::strtod(field.c_str(), nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

double unix_time() {
  return std::round(now(CLOCK_REALTIME) * 1e3) / 1e3;
}

double seconds_since_process_start() {
  return now(CLOCK_BOOTTIME) - process_start_since_boot();
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

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string boot_id() {
  return first_line("/proc/sys/kernel/random/boot_id");
}

}  // namespace trivet
