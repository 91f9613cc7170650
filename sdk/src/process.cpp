// SPDX-License-Identifier: Apache-2.0
#include "trivet/process.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <time.h>
#include <unistd.h>

namespace trivet {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

double unix_time() {
  timespec t = {};
  ::clock_gettime(CLOCK_REALTIME, &t);
  const double seconds = static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  return std::round(seconds * 1e3) / 1e3;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string boot_id() {
  return first_line("/proc/sys/kernel/random/boot_id");
}

std::int64_t start_ticks(pid_t pid) {
  const std::string line = first_line("/proc/" + std::to_string(pid) + "/stat");
  // The second field, the program's name, may hold blanks and brackets.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) {
    fields >> field;
    if (number == 3 && (field == "Z" || field == "X")) return 0;
  }
  return std::strtoll(field.c_str(), nullptr, 10);
}

}  // namespace trivet
