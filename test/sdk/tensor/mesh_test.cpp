// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/mesh.h"

#include <catch2/catch.hpp>

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

}  // namespace mesh_axes_test
