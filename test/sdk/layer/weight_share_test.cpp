// SPDX-License-Identifier: Apache-2.0
// What processes have of weights, by hand.
#include "trivet/layer/weight_share.h"

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/backend/mesh.h"
#include "trivet/layer/scope.h"
#include "trivet/tensor/mesh_shards.h"

namespace weight_share_test {
namespace {

using trivet::ParameterStore;
using trivet::WeightShare;

trivet::MeshConfig mesh_for(std::int64_t processes) {
  trivet::MeshConfig mesh;
  mesh.ici_mesh_shape = {1, 4, 1};
  mesh.processes = processes;
  return mesh;
}

}  // namespace

TEST_CASE("the largest variable goes first, to the device that has least") {
  const auto device = trivet::test::open_device("tiny/Backend");
  ParameterStore store(*device, trivet::RngKey(1));
  trivet::Scope scope(store);
  // Rounded up to 16: 32, 48, 32, 16, 80, 0, 32.
  scope.parameter("f", {32}, {});
  scope.parameter("b", {3, 16}, {});
  scope.parameter("a", {31}, {});
  scope.state("none", {100}, 1);
  scope.parameter("small", {}, {});
  scope.parameter("large", {80}, {});
  scope.parameter("empty", {0, 3}, {});
  scope.parameter("c", {17}, {});
  store.build(trivet::MeshShards(mesh_for(1), nullptr), ParameterStore::Pieces::variables);
  CHECK(store.has_whole_variables());
  // large: 0, b: 1, a: 2, c: 3, f: 2 (as 3), small: 3, empty: 1 (48 as 3).
  const WeightShare of_four = trivet::update_share(store, mesh_for(4));
  const std::map<std::string, std::int64_t, std::less<>> owners = {
      {"large", 0}, {"b", 1}, {"a", 2}, {"c", 3}, {"f", 2}, {"small", 3}, {"empty", 1}};
  CHECK(of_four.owners == owners);
  CHECK(of_four.parts == std::vector<std::vector<std::int64_t>>{{80, 48, 64, 48}});
  CHECK(of_four.all == 240);
  CHECK(of_four.own == 80);
  CHECK(of_four.units == 1);
  const WeightShare of_two = trivet::update_share(store, mesh_for(2));
  CHECK(of_two.parts == std::vector<std::vector<std::int64_t>>{{128, 112}});
  CHECK(of_two.own == 128);
  // In the blocks those of a device are neighbors, in the order in which layers made them.
  const char* const order[] = {"large", "b", "f", "a", "small", "c"};
  std::int64_t end = 0;
  for (const char* name : order) {
    CHECK(store.offset_of(*store.find(name)) == end);
    end += (store.find(name)->shape().size() + 15) / 16 * 16;
  }
}

TEST_CASE("units of whole variables are those of equal pieces") {
  const auto device = trivet::test::open_device("tiny/Backend");
  const auto share_of = [&](ParameterStore::Pieces pieces) {
    ParameterStore store(*device, trivet::RngKey(1));
    trivet::Scope scope(store);
    scope.parameter("first", {1000}, {});
    scope.parameter("wide", {1 << 18}, {});
    scope.parameter("second", {3000}, {});
    scope.parameter("wider", {(1 << 18) + 16}, {});
    scope.parameter("last", {48}, {});
    store.build_in_parts(trivet::MeshShards(mesh_for(1), nullptr), ParameterStore::Gradients::whole,
                         pieces);
    return trivet::weight_share(store, mesh_for(4));
  };
  const WeightShare equal = share_of(ParameterStore::Pieces::elements);
  const WeightShare whole = share_of(ParameterStore::Pieces::variables);
  CHECK(whole.all == equal.all);
  CHECK(whole.units == 3);
  CHECK(equal.units == 3);
  CHECK(whole.largest == equal.largest);
  CHECK(equal.parts.empty());
  // wider: 0, wide: 1, second: 2, first: 3, last: 3.
  CHECK(whole.parts == std::vector<std::vector<std::int64_t>>{
                           {0, 1 << 18, 0, 1008}, {(1 << 18) + 16, 0, 3008, 0}, {0, 0, 0, 48}});
  CHECK(whole.own == (1 << 18) + 16);
}

}  // namespace weight_share_test
