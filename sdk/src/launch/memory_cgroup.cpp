// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/memory_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "launch/attempt_files.h"
#include "trivet/error.h"
#include "trivet/os/process.h"

namespace trivet::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "trivet-";

std::string own_name() {
  const pid_t self = ::getpid();
  return std::string(kPrefix) + std::to_string(self) + "-" + std::to_string(start_ticks(self));
}

// Whether the process that a group is named after is gone; false for the groups of others.
bool is_leftover(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  const char* const end = name.data() + name.size();
  pid_t pid = 0;
  const auto [dash, wrong_pid] = std::from_chars(name.data(), end, pid);
  if (wrong_pid != std::errc() || pid <= 0 || dash == end || *dash != '-') return false;
  std::int64_t ticks = 0;
  const auto [stop, wrong_ticks] = std::from_chars(dash + 1, end, ticks);
  if (wrong_ticks != std::errc() || stop != end) return false;
  return start_ticks(pid) != ticks;
}

UniqueFd open_to_write(const fs::path& file) {
  return UniqueFd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

// The kernel takes a value in one piece or not at all.
bool write_value(const fs::path& file, std::string_view text) {
  const UniqueFd opened = open_to_write(file);
  return opened && ::write(opened.get(), text.data(), text.size()) >= 0;
}

void must_write(const fs::path& file, std::string_view text) {
  if (!write_value(file, text)) throw_errno("write", file, errno);
}

// Of "name number" lines; 0 for one that is not there.
std::int64_t count_in(const fs::path& file, std::string_view name) {
  std::ifstream in(file);
  std::string word;
  std::int64_t number = 0;
  while (in >> word >> number) {
    if (word == name) return number;
  }
  return 0;
}

std::int64_t number_in(const fs::path& file) {
  std::ifstream in(file);
  std::int64_t number = 0;
  in >> number;
  return number;
}

// Processes that were killed just now hold a group for a moment.
bool remove_group(const fs::path& path, std::chrono::milliseconds longest) {
  constexpr std::chrono::milliseconds kPause{10};
  std::error_code ignored;
  std::vector<fs::path> inner;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) inner.push_back(entry.path());
  }
  for (const fs::path& group : inner) remove_group(group, longest);
  while (::rmdir(path.c_str()) != 0) {
    if (errno != EBUSY || longest.count() <= 0) return false;
    std::this_thread::sleep_for(kPause);
    longest -= kPause;
  }
  return true;
}

}  // namespace

MemoryCgroup::MemoryCgroup(const fs::path& parent, std::int64_t limit_bytes)
    : path_(parent / own_name()),
      limit_bytes_(std::max(limit_bytes, kLeastBytes)),
      is_v2_(::access((parent / "cgroup.controllers").c_str(), F_OK) == 0) {
  if (::mkdir(path_.c_str(), 0777) != 0) throw_errno("make cgroup", path_, errno);
  try {
    set_up();
  } catch (...) {
    remove();
    throw;
  }
}

MemoryCgroup::~MemoryCgroup() {
  remove();
}

void MemoryCgroup::set_up() {
  if (is_v2_) {
    set_limit_v2();
  } else {
    set_limit_v1();
  }
  const fs::path processes = path_ / "cgroup.procs";
  entry_ = open_to_write(processes);
  if (!entry_) throw_errno("open", processes, errno);
}

void MemoryCgroup::set_limit_v2() {
  must_write(path_ / "memory.max", std::to_string(limit_bytes_));
  // Not there without swap, and on kernels before 4.19.
  write_value(path_ / "memory.swap.max", "0");
  kills_all_ = write_value(path_ / "memory.oom.group", "1");
}

void MemoryCgroup::set_limit_v1() {
  const std::string limit = std::to_string(limit_bytes_);
  must_write(path_ / "memory.limit_in_bytes", limit);
  // Memory and swap together; not there where swap is not accounted for.
  write_value(path_ / "memory.memsw.limit_in_bytes", limit);
}

bool MemoryCgroup::has_killed() const {
  if (is_v2_) {
    const fs::path events = path_ / "memory.events";
    return count_in(events, "oom") > 0 && count_in(events, "oom_kill") > 0;
  }
  // Not by failcnt, which newer kernels leave at 0. One failure may be several pages.
  constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 20;
  const std::int64_t most = std::max(number_in(path_ / "memory.max_usage_in_bytes"),
                                     number_in(path_ / "memory.memsw.max_usage_in_bytes"));
  return most >= limit_bytes_ - kMostAtOnce &&
         count_in(path_ / "memory.oom_control", "oom_kill") > 0;
}

void MemoryCgroup::remove() noexcept {
  entry_ = UniqueFd();
  try {
    remove_group(path_, std::chrono::seconds(1));
  } catch (const std::exception&) {
    // A later call of remove_leftover_cgroups() finds it.
  }
}

void remove_leftover_cgroups(const fs::path& parent) noexcept {
  try {
    std::error_code ignored;
    std::vector<fs::path> leftovers;
    for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
      if (is_leftover(entry.path().filename().string())) leftovers.push_back(entry.path());
    }
    for (const fs::path& path : leftovers) remove_group(path, {});
  } catch (const std::exception&) {
    // The next call tries again.
  }
}

}  // namespace trivet::launch
