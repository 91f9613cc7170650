// SPDX-License-Identifier: Apache-2.0
// Finds where this machine allows cgroups that limit the memory of jobs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace trivet::local {

// The cgroup of a process in the hierarchy that has the memory controller.
struct MemoryHierarchy {
  int version = 0;              // 1 or 2
  std::filesystem::path mount;  // of the hierarchy, or of its visible part
  std::filesystem::path own;    // equal to mount or below it
};

// Parses the texts of /proc/self/cgroup and /proc/self/mountinfo. Empty if there is no such
// hierarchy or the process's cgroup is outside the mount.
std::optional<MemoryHierarchy> memory_hierarchy(std::string_view cgroups, std::string_view mounts);

struct CgroupLocation {
  std::filesystem::path parent;  // empty if there is none
  std::string why_not{};         // the reason then
};

// v1: the process's own cgroup, if it is writable.
//
// v2: the nearest cgroup, from the process's own upwards, that delegates the memory controller and
// is writable. A process's own cgroup rarely qualifies, since v2 keeps processes in leaves. The
// search never escapes a limit: it stops at a cgroup with a memory or CPU limit, and at a service,
// which must end as a whole.
CgroupLocation find_cgroup_location(const MemoryHierarchy& hierarchy);

// For this process, verified by a trial. Removes cgroups that killed processes left there.
CgroupLocation cgroup_location();

}  // namespace trivet::local
