// SPDX-License-Identifier: Apache-2.0
// Where on this machine cgroups that limit the memory of jobs may be made.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace trivet::local {

// The cgroup of a process in the hierarchy that has the memory controller.
struct MemoryHierarchy {
  int version = 0;              // 1 or 2
  std::filesystem::path mount;  // of the hierarchy, or of as much of it as is seen here
  std::filesystem::path own;    // at it or below
};

// From the texts of /proc/self/cgroup and /proc/self/mountinfo; nothing when there is none, or when
// the process's cgroup lies outside of what is mounted.
std::optional<MemoryHierarchy> memory_hierarchy(std::string_view cgroups, std::string_view mounts);

struct CgroupLocation {
  std::filesystem::path parent;  // empty: there is none,
  std::string why_not{};         // because of this
};

// v1: the process's own cgroup, when it may write there.
//
// v2: the nearest one, from its own upwards, that hands out memory to those below and where it may
// write. A process's own hardly ever does, since v2 has processes in the leaves only. No limit of
// memory or processors is escaped: a cgroup with one is not left upwards, nor is a service, which
// is to end as a whole.
CgroupLocation find_cgroup_location(const MemoryHierarchy& hierarchy);

// For this process, and tried out. What killed processes have left there is removed.
CgroupLocation cgroup_location();

}  // namespace trivet::local
