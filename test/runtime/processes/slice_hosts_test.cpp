// SPDX-License-Identifier: Apache-2.0
#include "processes/slice_hosts.h"

#include <cstdint>
#include <utility>

#include <catch2/catch.hpp>

namespace slice_hosts_test {
namespace {

trivet::MeshConfig mesh_of(std::vector<std::int64_t> ici, std::vector<std::int64_t> dcn) {
  trivet::MeshConfig mesh;
  mesh.ici_mesh_shape = std::move(ici);
  mesh.dcn_mesh_shape = std::move(dcn);
  return mesh;
}

}  // namespace

TEST_CASE("a slice is on no more machines than it needs") {
  const trivet::MeshConfig two = mesh_of({2, 1, 1}, {2, 1, 1});
  CHECK(trivet::wrong_slice(two, {"a", "a", "b", "b"}).empty());
  CHECK(trivet::wrong_slice(two, {"a", "a", "a", "a"}).empty());
  // With a process on each machine a slice needs two.
  CHECK(trivet::wrong_slice(two, {"a", "b", "c", "d"}).empty());
  CHECK(trivet::wrong_slice(two, {"a", "b", "a", "b"}) ==
        "is \"host\", and slice 0 of 2 has 2 processes on 2 machines (a, b) where 1 would do");
  CHECK(trivet::wrong_slice(two, {"a", "a", "a", "b"}) ==
        "is \"host\", and slice 1 of 2 has 2 processes on 2 machines (a, b) where 1 would do");
  const trivet::MeshConfig long_ones = mesh_of({4, 1, 1}, {2, 1, 1});
  CHECK(trivet::wrong_slice(long_ones, {"a", "a", "b", "b", "c", "c", "d", "d"}).empty());
  CHECK(trivet::wrong_slice(long_ones, {"a", "b", "b", "c", "c", "a", "d", "d"}) ==
        "is \"host\", and slice 0 of 2 has 4 processes on 3 machines (a, b, c) where 2 would do");
}

TEST_CASE("slices of one process, and a mesh of one slice, may be anywhere they fit") {
  CHECK(trivet::wrong_slice(mesh_of({2, 1, 1}, {4, 1, 1}), {"a", "b"}).empty());
  CHECK(trivet::wrong_slice(mesh_of({2, 1, 1}, {2, 1, 1}), {"a", "b"}).empty());
  CHECK(trivet::wrong_slice(mesh_of({4, 1, 1}, {}), {"a", "a", "b", "b"}).empty());
}

}  // namespace slice_hosts_test
