// SPDX-License-Identifier: Apache-2.0
// Numbers of devices, shards and processes of a mesh.
#include "trivet/backend/mesh_layout.h"

#include <random>

#include <catch2/catch.hpp>

#include "trivet/error.h"

namespace mesh_layout_test {
namespace {

using trivet::MeshConfig;
using trivet::MeshLayout;
using Numbers = std::vector<std::int64_t>;

MeshLayout layout_of(Numbers ici, Numbers dcn = {},
                     std::vector<std::string> names = {"replica", "data", "mdl"}) {
  MeshConfig mesh;
  mesh.ici_mesh_shape = std::move(ici);
  mesh.dcn_mesh_shape = std::move(dcn);
  mesh.mesh_axis_names = std::move(names);
  return MeshLayout(mesh);
}

// Whether so many neighbors are what a tree adds up before it looks at others: sums of its lowest
// levels, and a power of two of the next where that is a level of pairs.
bool is_subtree(const trivet::SumTree& tree, std::int64_t count) {
  for (const std::int64_t arity : tree.arities()) {
    if (count == 1) return true;
    if (count % arity != 0) return false;
    count /= arity;
  }
  return count == 1;
}

}  // namespace

TEST_CASE("a slice is a run of devices, and a coordinate counts over slices") {
  const MeshLayout mesh = layout_of({2, 1, 2}, {2, 1, 1});
  CHECK(mesh.devices() == 8);
  CHECK(mesh.shards() == 4);
  // Device 5: slice 1, replica 0 and mdl 1 within it.
  CHECK(mesh.coordinate(5, "replica") == 2);
  CHECK(mesh.coordinate(5, "data") == 0);
  CHECK(mesh.coordinate(5, "mdl") == 1);
  CHECK(mesh.coordinate(5, "stage") == 0);
  CHECK(mesh.shard_of(5) == 2);
  Numbers shards;
  for (std::int64_t device = 0; device < 8; ++device) shards.push_back(mesh.shard_of(device));
  CHECK(shards == Numbers{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK_THROWS_WITH(mesh.coordinate(8, "mdl"), "a mesh of 8 devices has none of number 8");
  CHECK_THROWS_AS(mesh.shard_of(-1), trivet::Error);
}

TEST_CASE("one device is a mesh, too") {
  const MeshLayout mesh{MeshConfig()};
  CHECK(mesh.devices() == 1);
  CHECK(mesh.shards() == 1);
  CHECK(mesh.coordinate(0, "data") == 0);
  CHECK(mesh.process_counts() == Numbers{1});
}

TEST_CASE("process counts keep sums whole") {
  CHECK(layout_of({8, 1, 1}).process_counts() == Numbers{1, 2, 4, 8});
  CHECK(layout_of({1, 4, 2}).process_counts() == Numbers{1, 2, 4, 8});
  // Three devices each would be a half of six values, which is no sum of pairs.
  CHECK(layout_of({6, 1, 1}).process_counts() == Numbers{1, 3, 6});
  // Two processes would cut the pair along mdl of the middle shard.
  CHECK(layout_of({3, 1, 2}).process_counts() == Numbers{1, 3, 6});
  // Nothing is added along stage: any divisor.
  CHECK(layout_of({6, 1}, {}, {"stage", "data"}).process_counts() == Numbers{1, 2, 3, 6});
  CHECK(layout_of({1, 3, 1}, {2, 1, 1}).process_counts() == Numbers{1, 2, 6});
  CHECK_FALSE(layout_of({8, 1, 1}).can_share(0));
  CHECK_FALSE(layout_of({8, 1, 1}).can_share(16));
}

TEST_CASE("what a process has of the shards is a subtree of every sum") {
  std::mt19937 random(11);  // NOLINT: the same cases in every run
  int counts = 0;
  for (int round = 0; round < 200; ++round) {
    Numbers ici(3), dcn(3);
    for (std::int64_t& extent : ici) extent = 1 + static_cast<std::int64_t>(random() % 6);
    for (std::int64_t& extent : dcn) extent = 1 + static_cast<std::int64_t>(random() % 3);
    const MeshLayout mesh = layout_of(ici, dcn, {"replica", "data", "data_expert"});
    REQUIRE(mesh.shards() == mesh.devices());
    for (const std::int64_t processes : mesh.process_counts()) {
      REQUIRE(is_subtree(mesh.shard_tree(), mesh.devices() / processes));
      ++counts;
    }
  }
  CHECK(counts > 400);
}

TEST_CASE("each process has a run of shards and of coordinates along an axis") {
  using Run = MeshLayout::Run;
  MeshConfig config;
  config.ici_mesh_shape = {2, 1, 4};
  config.dcn_mesh_shape = {2, 1, 1};
  const MeshLayout layout(config);
  // Of 16 devices: 4 shards of 4 blocks.
  CHECK((layout.shards_of(0, 1) == Run{0, 4}));
  CHECK((layout.coordinates_of(0, 1, "mdl") == Run{0, 4}));
  CHECK((layout.shards_of(1, 2) == Run{2, 2}));
  CHECK((layout.coordinates_of(1, 2, "mdl") == Run{0, 4}));
  CHECK((layout.shards_of(5, 8) == Run{2, 1}));
  CHECK((layout.coordinates_of(5, 8, "mdl") == Run{2, 2}));
  CHECK((layout.coordinates_of(5, 8, "replica") == Run{2, 1}));
  CHECK((layout.coordinates_of(5, 8, "seq") == Run{0, 1}));
  CHECK((layout.shards_of(15, 16) == Run{3, 1}));
  CHECK((layout.coordinates_of(15, 16, "mdl") == Run{3, 1}));
  // Processes with the same blocks have the same work.
  CHECK(layout.work_of(5, 8) == layout.work_of(1, 8));
  CHECK(layout.work_of(5, 8) != layout.work_of(4, 8));
  CHECK(layout.work_of(5, 8, "mdl") == layout.work_of(4, 8, "mdl"));
  // The first axis is shared first.
  config.mesh_axis_names = {"mdl", "data"};
  config.ici_mesh_shape = {2, 4};
  config.dcn_mesh_shape = {};
  const MeshLayout swapped(config);
  CHECK((swapped.shards_of(1, 2) == Run{0, 4}));
  CHECK((swapped.coordinates_of(1, 2, "mdl") == Run{1, 1}));
  CHECK((swapped.shards_of(1, 4) == Run{2, 2}));
  CHECK_THROWS_WITH(swapped.shards_of(0, 3), "3 processes cannot share the 8 devices of the mesh");
  CHECK_THROWS_WITH(swapped.coordinates_of(4, 4, "mdl"), "4 processes have none of rank 4");
  // Blocks of positions are added by halves of even parts.
  config.mesh_axis_names = {"data", "seq"};
  config.ici_mesh_shape = {1, 6};
  CHECK((MeshLayout(config).process_counts() == std::vector<std::int64_t>{1, 3, 6}));
}

}  // namespace mesh_layout_test
