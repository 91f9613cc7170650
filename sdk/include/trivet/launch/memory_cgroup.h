// SPDX-License-Identifier: Apache-2.0
// MemoryCgroup: a control group of Linux (cgroups(7)) that limits the memory of the processes in
// it. The kernel ends a process, with v2 all of them, when they would take more; they cannot swap
// instead.
//
//                 limit                                         kills are counted in
//   cgroup v2     memory.max, memory.swap.max, memory.oom.group   memory.events
//   cgroup v1     memory.limit_in_bytes, memory.memsw...          memory.oom_control, memory.max_usage...
//
// Which version it is, PARENT's files say. PARENT must hand out the memory controller (v2:
// cgroup.subtree_control), and this process must be allowed to write there.
#pragma once

#include <cstdint>
#include <filesystem>

#include "trivet/base/export.h"
#include "trivet/os/file.h"

namespace trivet::launch {

class TRIVET_API MemoryCgroup {
 public:
  // What a program needs to begin at all. A lower limit is this one: hit while a program is just
  // being started, it would end the process that starts it, too.
  static constexpr std::int64_t kLeastBytes = std::int64_t{16} << 20;

  // Makes PARENT/trivet-PID-TICKS, after this process's id and start (process.h), which can have
  // one at a time in a parent. Throws RunError when it cannot; nothing is left behind then.
  MemoryCgroup(const std::filesystem::path& parent, std::int64_t limit_bytes);
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;
  // Removes it with the groups that its processes have made in it. One that still has processes
  // after a second stays, for remove_leftover_cgroups().
  ~MemoryCgroup();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t limit_bytes() const { return limit_bytes_; }
  // A descriptor. A process that writes "0" to it is in the group, and so are its children to come.
  int entry() const { return entry_.get(); }

  // Whether the kernel has ended a process because of this limit, not for want of memory elsewhere.
  bool has_killed() const;
  // Whether it ends all processes at once; else the largest one only.
  bool kills_all() const { return kills_all_; }

 private:
  void set_up();
  void set_limit_v1();
  void set_limit_v2();
  void remove() noexcept;

  std::filesystem::path path_;
  std::int64_t limit_bytes_;
  bool is_v2_;
  bool kills_all_ = false;
  UniqueFd entry_;
};

// Removes groups of processes that have been killed before they could, unless somebody is still in
// them. Errors are left alone: the next one to call it tries again.
TRIVET_API void remove_leftover_cgroups(const std::filesystem::path& parent) noexcept;

}  // namespace trivet::launch
