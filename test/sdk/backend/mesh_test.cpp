// SPDX-License-Identifier: Apache-2.0
// Meshes in configs, and Pax' arithmetic of batches on them.
#include "trivet/backend/mesh.h"

#include <catch2/catch.hpp>

#include "trivet/experiment.h"

namespace trivet::test {
namespace {

std::string problems_of(const MeshConfig& mesh) {
  Diagnostics diagnostics;
  mesh.validate(diagnostics);
  std::string text;
  for (const Diagnostic& problem : diagnostics.list()) {
    text += problem.path + ": " + problem.what + "\n";
  }
  return text;
}

MeshConfig mesh_of(std::vector<std::int64_t> ici, double percore = 0, std::int64_t processes = 1) {
  MeshConfig mesh;
  mesh.ici_mesh_shape = std::move(ici);
  mesh.percore_batch_size = percore;
  mesh.processes = processes;
  return mesh;
}

}  // namespace

TEST_CASE("a mesh is the product of its shapes within and over slices", "[mesh]") {
  MeshConfig mesh;
  CHECK(mesh.devices() == 1);
  CHECK(mesh.extent("data") == 1);
  mesh.ici_mesh_shape = {1, 64, 2};
  CHECK(mesh.devices() == 128);
  mesh.dcn_mesh_shape = {4, 1, 1};
  CHECK(mesh.shape() == std::vector<std::int64_t>{4, 64, 2});
  CHECK(mesh.devices() == 512);
  CHECK(mesh.extent("replica") == 4);
  CHECK(mesh.extent("stage") == 1);
  CHECK(problems_of(mesh).empty());
}

TEST_CASE("a process has its share of the global batch as in Pax", "[mesh]") {
  const auto share = [](double percore, std::int64_t devices, std::int64_t processes) {
    const BatchShare found = batch_share(mesh_of({1, devices, 1}, percore, processes));
    return std::vector{found.global, found.batch_size, found.num_infeed_hosts};
  };
  using Share = std::vector<std::int64_t>;
  CHECK(share(32, 4, 1) == Share{128, 128, 1});  // C4Spmd1BAdam4Replicas
  CHECK(share(16, 32, 8) == Share{512, 64, 8});  // C4Spmd16BAdam32Replicas
  CHECK(share(0.5, 16, 4) == Share{8, 4, 2});    // below 1: one per device of reading processes
  CHECK(share(0.25, 8, 1) == Share{2, 2, 1});    // one process reads the batch
  CHECK(share(1.5, 8, 4) == Share{12, 4, 3});    // rounded up, so fewer read
  CHECK(share(0.1, 10, 1) == Share{1, 1, 1});    // 0.1 * 10 is not quite 1 in binary
}

TEST_CASE("a mesh that makes no sense is refused by field", "[mesh]") {
  MeshConfig mesh = mesh_of({1, 4});
  CHECK(problems_of(mesh) == "ici_mesh_shape: has 2 extents for 3 axes\n");
  mesh = mesh_of({1, 4, 1});
  mesh.dcn_mesh_shape = {2, 1};
  CHECK(problems_of(mesh) == "dcn_mesh_shape: has 2 extents for 3 axes\n");
  mesh.dcn_mesh_shape = {};
  mesh.processes = 3;
  CHECK(problems_of(mesh) == "processes: is 3; this mesh of 4 devices can be shared by 1, 2, 4\n");
  mesh.processes = 1;
  mesh.mesh_axis_names = {"replica", "data", "data"};
  CHECK(problems_of(mesh) == "mesh_axis_names: has 'data' twice\n");
  mesh.mesh_axis_names = {"replica", "data", "model"};
  CHECK(problems_of(mesh) == "mesh_axis_names: there is no axis 'model'\n");
  CHECK_THAT(problems_of(mesh_of({1, 1LL << 40, 1LL << 40})), Catch::Contains("more than"));
  CHECK_THAT(problems_of(mesh_of({1, 4, 1}, 0.3)),
             Catch::Contains("percore_batch_size: times 4 devices is 1.2, no number of examples"));
  CHECK_THAT(problems_of(mesh_of({1, 4, 1}, 0.01)), Catch::Contains("no number of examples"));
  CHECK_THAT(problems_of(mesh_of({1, 4, 1}, 1e300)), Catch::Contains("no number of examples"));
  // 4 devices in 2 processes would read 4 rows each, of 6.
  CHECK_THAT(problems_of(mesh_of({1, 4, 1}, 1.5, 2)), Catch::Contains("cannot share"));
}

TEST_CASE("the inputs' batch size must match the mesh", "[mesh]") {
  ExperimentConfig config;
  config.mesh = mesh_of({1, 32, 1}, 16, 8);
  const auto diagnostics = [&](std::int64_t batch_size, std::int64_t hosts) {
    Value input = Value::table({{"batch_size", batch_size}, {"num_infeed_hosts", hosts}});
    config.task = ConfigOf<Task>("test/Task", Value::table({{"train_input", std::move(input)}}));
    Diagnostics found;
    config.validate(found);
    std::string text;
    for (const Diagnostic& problem : found.list()) {
      text += problem.path + ": " + problem.what + "\n";
    }
    return text;
  };
  CHECK(diagnostics(64, 8).empty());
  CHECK(diagnostics(32, 8) ==
        "task.train_input.batch_size: is 32, and mesh.percore_batch_size makes it 64 (a global "
        "batch of 512)\n");
  CHECK_THAT(diagnostics(64, 1), Catch::Contains("task.train_input.num_infeed_hosts: is 1"));
  // An invalid mesh has no share to compare with.
  config.mesh.processes = 64;
  CHECK(diagnostics(64, 8).empty());
  config.mesh = mesh_of({1LL << 62, 1LL << 62, 4}, 16);
  CHECK(diagnostics(64, 8).empty());
}

}  // namespace trivet::test
