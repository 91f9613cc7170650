// SPDX-License-Identifier: Apache-2.0
#include "base/process_table.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

namespace trivet {
namespace {

namespace fs = std::filesystem;

// Fields of /proc/N/stat after the program's name, numbered from 3 as in proc(5).
constexpr int kParent = 4, kFirstTime = 14, kLastTime = 17, kResident = 24;

bool read_fields(const fs::path& file, std::array<std::int64_t, kResident + 1>& fields) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return false;
  // The name may contain blanks and brackets.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream rest(line.substr(name_end + 1));
  std::string state;
  rest >> state;
  for (int number = kParent; number <= kResident; ++number) {
    if (!(rest >> fields[static_cast<std::size_t>(number)])) return false;
  }
  return true;
}

}  // namespace

ProcessTable::ProcessTable() {
  static const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [stop, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failure != std::errc() || stop != name.data() + name.size()) continue;
    std::array<std::int64_t, kResident + 1> fields{};
    if (!read_fields(entry->path() / "stat", fields)) continue;
    Process& process = processes_[pid];
    for (std::size_t time = kFirstTime; time <= kLastTime; ++time) {
      process.cpu_seconds += static_cast<double>(fields[time]) / ticks;
    }
    process.memory_bytes = fields[kResident] * page;
    children_[static_cast<pid_t>(fields[kParent])].push_back(pid);
  }
}

// Visits each process once: a reused process id could form a cycle.
TreeUsage ProcessTable::sum_of(std::vector<pid_t> waiting) const {
  TreeUsage sum;
  std::set<pid_t> seen;
  while (!waiting.empty()) {
    const pid_t pid = waiting.back();
    waiting.pop_back();
    const auto process = processes_.find(pid);
    if (process == processes_.end() || !seen.insert(pid).second) continue;
    ++sum.processes;
    sum.cpu_seconds += process->second.cpu_seconds;
    sum.memory_bytes += process->second.memory_bytes;
    const auto children = children_.find(pid);
    if (children == children_.end()) continue;
    waiting.insert(waiting.end(), children->second.begin(), children->second.end());
  }
  return sum;
}

TreeUsage ProcessTable::usage_below(pid_t pid) const {
  const auto found = children_.find(pid);
  return pid > 0 && found != children_.end() ? sum_of(found->second) : TreeUsage();
}

TreeUsage ProcessTable::from(pid_t pid) const {
  return pid > 0 ? sum_of({pid}) : TreeUsage();
}

}  // namespace trivet
