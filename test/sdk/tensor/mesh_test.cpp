// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/mesh.h"

#include <array>
#include <cstdint>

#include <catch2/catch.hpp>

#include "support/thread_group.h"
#include "trivet/backend/mesh.h"

namespace mesh_axes_test {

using trivet::Mesh;
using trivet::MeshAxis;
using trivet::MeshConfig;

TEST_CASE("a mesh has its axes by name, and one device along any other") {
  MeshConfig config;
  config.ici_mesh_shape = {2, 1, 4};
  config.dcn_mesh_shape = {1, 1, 3};
  const Mesh mesh(config);
  CHECK(mesh.axis_names() == std::vector<std::string>{"replica", "data", "mdl"});
  const MeshAxis& mdl = mesh.axis("mdl");
  CHECK(mdl.extent() == 12);
  CHECK(mdl.first() == 0);
  CHECK(mdl.count() == 12);
  // Within a slice first, then over slices.
  CHECK(mdl.tree().arities() == std::vector<std::int64_t>{2, 2, 3});
  CHECK(mesh.axis("replica").extent() == 2);
  CHECK_FALSE(mesh.axis("data").is_split());
  CHECK_FALSE(mesh.axis("stage").is_split());
}

TEST_CASE("a mesh without shapes is one device") {
  for (const char* axis : {"replica", "data", "mdl", "seq"}) {
    CHECK(Mesh().axis(axis).extent() == 1);
    CHECK(Mesh(MeshConfig()).axis(axis).tree().size() == 1);
  }
}

TEST_CASE("the processes of a shard share the devices along mdl") {
  MeshConfig config;
  config.ici_mesh_shape = {2, 1, 4};
  config.processes = 4;
  std::array<std::array<std::int64_t, 3>, 4> found{};
  trivet::test::on_ranks(4, [&](trivet::ProcessGroup& group) {
    const Mesh mesh(config, &group);
    const MeshAxis& mdl = mesh.axis("mdl");
    found[static_cast<std::size_t>(group.rank())] = {mdl.first(), mdl.count(),
                                                     mesh.axis("replica").count()};
  });
  CHECK(found[0] == std::array<std::int64_t, 3>{0, 2, 2});
  CHECK(found[1] == std::array<std::int64_t, 3>{2, 2, 2});
  CHECK(found[2] == found[0]);
  CHECK(found[3] == found[1]);
  const Mesh first = Mesh::of_first_process(config);
  CHECK(first.axis("mdl").count() == 2);
  CHECK(first.axis("mdl").extent() == 4);
  CHECK(first.axis("mdl").processes() == nullptr);
  config.processes = 2;
  CHECK_FALSE(Mesh::of_first_process(config).axis("mdl").is_shared());
}

}  // namespace mesh_axes_test
