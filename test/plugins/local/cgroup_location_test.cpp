// SPDX-License-Identifier: Apache-2.0
// Locations for cgroups: parsing of the kernel's hierarchies, and the choice of a directory.
#include "local/cgroup_location.h"

#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "support/shell.h"

using namespace trivet::local;
using Catch::Contains;
using trivet::test::TempDir;
namespace fs = std::filesystem;

namespace {

// systemd with one v2 hierarchy.
const std::string kGroupsV2 = "0::/user.slice/user-1000.slice/session-3.scope\n";
const std::string kMountsV2 =
    "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

// systemd on v1: a hierarchy per controller.
const std::string kGroupsV1 =
    "12:cpu,cpuacct:/user.slice\n"
    "5:memory:/user.slice/user-0.slice/session-1.scope\n"
    "1:name=systemd:/user.slice/user-0.slice/session-1.scope\n";
const std::string kMountsV1 =
    "32 31 0:26 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
    "35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n"
    "36 31 0:33 / /sys/fs/cgroup/memory rw shared:5 master:2 - cgroup cgroup rw,memory\n";

// A v2 tree that delegates memory where configured.
struct FakeTree {
  void add(const std::string& group, const std::string& handed_out) {
    dir.write(group + "/cgroup.procs", "");
    dir.write(group + "/cgroup.subtree_control", handed_out);
  }
  CgroupLocation location(const std::string& own) const {
    return find_cgroup_location({.version = 2, .mount = dir / "m", .own = dir / own});
  }

  TempDir dir;
};

}  // namespace

TEST_CASE("the hierarchy with the memory controller is found: v2") {
  const auto found = memory_hierarchy(kGroupsV2, kMountsV2);
  REQUIRE(found);
  CHECK(found->version == 2);
  CHECK(found->mount == "/sys/fs/cgroup");
  CHECK(found->own == "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope");
}

TEST_CASE("the hierarchy with the memory controller is found: v1") {
  const auto found = memory_hierarchy(kGroupsV1, kMountsV1);
  REQUIRE(found);
  CHECK(found->version == 1);
  CHECK(found->mount == "/sys/fs/cgroup/memory");
  CHECK(found->own == "/sys/fs/cgroup/memory/user.slice/user-0.slice/session-1.scope");
}

TEST_CASE("with both versions, memory is with v1 when that has it, else with v2") {
  const std::string unified = "40 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  const auto v1 = memory_hierarchy(kGroupsV1 + "0::/a\n", unified + kMountsV1);
  REQUIRE(v1);
  CHECK(v1->version == 1);
  const auto v2 = memory_hierarchy("3:cpu:/\n1:name=systemd:/\n0::/a\n", unified + kMountsV1);
  REQUIRE(v2);
  CHECK(v2->version == 2);
  CHECK(v2->own == "/sys/fs/cgroup/unified/a");
}

TEST_CASE("a container sees a part of a hierarchy") {
  const std::string part =
      "36 31 0:33 /docker/4f /sys/fs/cgroup/me\\040mory ro - cgroup cgroup memory\n";
  const auto found = memory_hierarchy("4:memory:/docker/4f/job\n", part);
  REQUIRE(found);
  CHECK(found->mount == "/sys/fs/cgroup/me mory");
  CHECK(found->own == "/sys/fs/cgroup/me mory/job");
  const auto top = memory_hierarchy("4:memory:/docker/4f\n", part);
  REQUIRE(top);
  CHECK(top->own == "/sys/fs/cgroup/me mory");
  CHECK_FALSE(memory_hierarchy("4:memory:/docker/4f2\n", part));
  CHECK_FALSE(memory_hierarchy("0::/../other\n", kMountsV2));
}

TEST_CASE("without a memory controller no hierarchy is found") {
  CHECK_FALSE(memory_hierarchy("", kMountsV2));
  CHECK_FALSE(memory_hierarchy(kGroupsV2, ""));
  CHECK_FALSE(memory_hierarchy(kGroupsV2, kMountsV1));
  CHECK_FALSE(memory_hierarchy(kGroupsV1, kMountsV2));
  CHECK_FALSE(memory_hierarchy("3:cpu:/\n", kMountsV1));
  CHECK_FALSE(memory_hierarchy("5\n:\n0:\n::", "36 31\n - - - -\n-"));
}

TEST_CASE("v2: the nearest cgroup upwards that hands out memory is chosen") {
  FakeTree tree;
  tree.add("m", "cpu memory");
  tree.add("m/slice", "memory pids");
  tree.add("m/slice/scope", "");
  tree.dir.write("m/slice/scope/memory.max", "max\n");
  CHECK(tree.location("m/slice/scope").parent == tree.dir / "m/slice");
  tree.add("m/slice/scope", "memory");
  CHECK(tree.location("m/slice/scope").parent == tree.dir / "m/slice/scope");
  tree.add("m/slice/scope", "memory_like");
  tree.add("m/slice", "pids");
  CHECK(tree.location("m/slice/scope").parent == tree.dir / "m");
  tree.add("m", "");
  const CgroupLocation none = tree.location("m/slice/scope");
  CHECK(none.parent.empty());
  CHECK_THAT(none.why_not, Contains("m/slice/scope up to ") && Contains("lets this user"));
}

TEST_CASE("v2: a cgroup where processes may not be put is passed over") {
  FakeTree tree;
  tree.add("m", "memory");
  tree.add("m/own", "");
  tree.dir.write("m/slice/cgroup.subtree_control", "memory");
  tree.add("m/slice/own", "");
  CHECK(tree.location("m/slice/own").parent == tree.dir / "m");
}

TEST_CASE("v2: a cgroup with a limit is not left, nor is a service") {
  FakeTree tree;
  tree.add("m", "memory");
  tree.add("m/own", "");
  tree.add("m/work.service", "");
  CHECK(tree.location("m/own").parent == tree.dir / "m");
  CHECK_THAT(tree.location("m/work.service").why_not, Contains("work.service"));
  const std::string file =
      GENERATE("memory.max", "memory.high", "memory.swap.max", "cpu.max", "cpuset.cpus");
  INFO(file);
  tree.dir.write("m/own/" + file, file == "cpu.max" ? "max 100000\n" : "max\n");
  CHECK(tree.location("m/own").parent == tree.dir / "m");
  tree.dir.write("m/own/" + file, "1000 2000\n");
  CHECK(tree.location("m/own").parent.empty());
  CHECK_FALSE(tree.location("m/own").why_not.empty());
}

TEST_CASE("v1: the process's own cgroup is chosen, unless limits do not reach into it") {
  const TempDir dir;
  const MemoryHierarchy hierarchy{.version = 1, .mount = dir.path(), .own = dir / "own"};
  CHECK_THAT(find_cgroup_location(hierarchy).why_not, Contains("cannot create cgroups in"));
  dir.write("own/cgroup.procs", "");
  CHECK(find_cgroup_location(hierarchy).parent == dir / "own");
  dir.write("own/memory.use_hierarchy", "1\n");
  CHECK(find_cgroup_location(hierarchy).parent == dir / "own");
  dir.write("own/memory.use_hierarchy", "0\n");
  CHECK_THAT(find_cgroup_location(hierarchy).why_not, Contains("do not apply"));
}
