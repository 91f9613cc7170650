// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/process.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>

namespace trivet {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// After the program's name, which may hold blanks and brackets: "S 1 77 ...", from field 3 on.
std::string_view fields_behind_name(std::string_view stat) {
  const std::size_t end = stat.rfind(')');
  return end == std::string_view::npos || end + 2 > stat.size() ? std::string_view()
                                                                : stat.substr(end + 2);
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
  static const std::string id = first_line("/proc/sys/kernel/random/boot_id");
  return id;
}

std::int64_t start_ticks(pid_t pid) noexcept {
  std::array<char, 32> path = {"/proc/"};
  char* end = std::to_chars(path.data() + 6, path.data() + 20, pid).ptr;
  std::copy_n("/stat", 6, end);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 1024> text;
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  if (size <= 0) return 0;
  std::string_view fields = fields_behind_name({text.data(), static_cast<std::size_t>(size)});
  if (fields.empty() || fields.front() == 'Z' || fields.front() == 'X') return 0;
  for (int number = 3; number < 22; ++number) {
    const std::size_t blank = fields.find(' ');
    if (blank == std::string_view::npos) return 0;
    fields.remove_prefix(blank + 1);
  }
  std::int64_t ticks = 0;
  std::from_chars(fields.data(), fields.data() + fields.size(), ticks);
  return ticks;
}

}  // namespace trivet
