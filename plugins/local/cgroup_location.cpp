// SPDX-License-Identifier: Apache-2.0
#include "cgroup_location.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "trivet/error.h"
#include "trivet/launch/memory_cgroup.h"
#include "trivet/os/file.h"
#include "trivet/text/strings.h"

namespace trivet::local {
namespace {

namespace fs = std::filesystem;

bool has(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Decodes "\040" and the like: mountinfo escapes blanks, tabs, newlines and backslashes.
std::string without_escapes(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, kDigits);
    const bool is_escape = text[i] == '\\' && digits.size() == kDigits &&
                           digits.find_first_not_of("01234567") == std::string_view::npos;
    if (is_escape) {
      plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + digits[2] - '0');
      i += kDigits;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// A line "HIERARCHY:CONTROLLERS:PATH". In v2 CONTROLLERS is empty.
struct Membership {
  int version = 0;
  std::string_view path;
};

std::optional<Membership> memory_membership(std::string_view cgroups) {
  std::optional<Membership> found;
  for (const std::string_view line : split(cgroups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    // If v1 and v2 are both mounted and v1 has the controller, v2 does not.
    if (has(split(controllers, ','), "memory")) return Membership{1, path};
    if (line.starts_with("0::")) found = Membership{2, path};
  }
  return found;
}

struct Mount {
  fs::path root;      // visible part of the hierarchy,
  fs::path location;  // where it is mounted
};

// ID PARENT DEVICE ROOT MOUNT_POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER_OPTIONS
std::vector<Mount> mounts_of(int version, std::string_view mounts) {
  std::vector<Mount> found;
  for (const std::string_view line : split(mounts, '\n')) {
    const std::vector<std::string_view> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 6 || words.end() - dash < 4) continue;
    const bool fits = version == 2 ? dash[1] == "cgroup2"
                                   : dash[1] == "cgroup" && has(split(dash[3], ','), "memory");
    if (fits) found.push_back({without_escapes(words[3]), without_escapes(words[4])});
  }
  return found;
}

std::string first_word(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

bool may_write(const fs::path& group) {
  // Moving a process also writes to the lowest common parent cgroup.
  return ::access(group.c_str(), W_OK | X_OK) == 0 &&
         ::access((group / "cgroup.procs").c_str(), W_OK) == 0;
}

bool delegates_memory(const fs::path& group) {
  const fs::path file = group / "cgroup.subtree_control";
  if (!is_there(file)) return false;
  std::istringstream words(read_text_file(file));
  for (std::string word; words >> word;) {
    if (word == "memory") return true;
  }
  return false;
}

bool is_closed(const fs::path& group) {
  for (const char* file :
       {"memory.max", "memory.high", "memory.swap.max", "cpu.max", "cpuset.cpus"}) {
    const std::string limit = first_word(group / file);
    if (!limit.empty() && limit != "max") return true;
  }
  return group.extension() == ".service";
}

CgroupLocation location_v1(const MemoryHierarchy& hierarchy) {
  const fs::path& own = hierarchy.own;
  if (!may_write(own)) return {{}, "this user cannot create cgroups in " + own.string()};
  if (first_word(own / "memory.use_hierarchy") == "0") {
    return {{}, "limits of " + own.string() + " do not apply to cgroups in it"};
  }
  return {own};
}

CgroupLocation location_v2(const MemoryHierarchy& hierarchy) {
  for (fs::path group = hierarchy.own;; group = group.parent_path()) {
    if (may_write(group) && delegates_memory(group)) return {group};
    if (group == hierarchy.mount || is_closed(group) || !group.has_relative_path()) {
      return {{},
              "no cgroup from " + hierarchy.own.string() + " up to " + group.string() +
                  " lets this user create cgroups with a limit"};
    }
  }
}

}  // namespace

std::optional<MemoryHierarchy> memory_hierarchy(std::string_view cgroups, std::string_view mounts) {
  const std::optional<Membership> membership = memory_membership(cgroups);
  if (!membership) return std::nullopt;
  const fs::path path = membership->path;
  for (const Mount& mount : mounts_of(membership->version, mounts)) {
    const fs::path inside = path.lexically_relative(mount.root);
    if (inside.empty() || *inside.begin() == "..") continue;
    const fs::path own = inside == "." ? mount.location : mount.location / inside;
    return MemoryHierarchy{membership->version, mount.location, own};
  }
  return std::nullopt;
}

CgroupLocation find_cgroup_location(const MemoryHierarchy& hierarchy) {
  return hierarchy.version == 2 ? location_v2(hierarchy) : location_v1(hierarchy);
}

CgroupLocation cgroup_location() {
  try {
    const auto hierarchy = memory_hierarchy(read_text_file("/proc/self/cgroup"),
                                            read_text_file("/proc/self/mountinfo"));
    if (!hierarchy) return {{}, "no cgroup file system with the memory controller is mounted"};
    CgroupLocation location = find_cgroup_location(*hierarchy);
    if (location.parent.empty()) return location;
    launch::remove_leftover_cgroups(location.parent);
    // Permissions are not sufficient: a trial shows what the kernel refuses.
    const launch::MemoryCgroup trial(location.parent, launch::MemoryCgroup::kLeastBytes);
    return location;
  } catch (const RunError& error) {
    return {{}, error.message()};
  }
}

}  // namespace trivet::local
