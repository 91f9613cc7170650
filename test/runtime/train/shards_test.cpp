// SPDX-License-Identifier: Apache-2.0
// Training the shards of a mesh one after another, against the whole batch and by hand.
#include "train/shards.h"

#include <catch2/catch.hpp>

#include "train_parts.h"
#include "trivet/error.h"

namespace shards_test {
namespace {

using namespace trivet;
using Catch::Contains;
using Bench = test::TrainerBench;

MeshConfig mesh_of(std::vector<std::int64_t> ici) {
  MeshConfig mesh;
  mesh.ici_mesh_shape = std::move(ici);
  return mesh;
}

std::unique_ptr<Bench> bench_of(const MeshConfig& mesh, std::int64_t accumulation = 1,
                                const char* field = "counts") {
  TrainerConfig config = test::trainer_config();
  config.gradient_accumulation = accumulation;
  Value fields = test::task_config(Value::table({{"batch_size", 8}, {"padding", 3}})).fields();
  fields.set("model", Value::table({{"type", "parts/Model"}, {field, true}}));
  auto bench =
      std::make_unique<Bench>(config, ConfigOf<Task>("parts/Task", fields), true, false, 1, mesh);
  bench->trainer->initialize();
  return bench;
}

}  // namespace

TEST_CASE("a mesh of shards trains as the whole batch does") {
  const auto whole = bench_of({});
  whole->trainer->train(6);
  for (const MeshConfig& mesh : {mesh_of({1, 2, 1}), mesh_of({4, 2, 1}), mesh_of({2, 1, 1})}) {
    for (const std::int64_t accumulation : {1, 2}) {
      const auto shards = bench_of(mesh, accumulation);
      shards->trainer->train(6);
      for (const char* path : {"w", "b"}) {
        CHECK(shards->weight(path) == Approx(whole->weight(path)).epsilon(1e-5));
      }
      for (std::size_t step = 0; step < 6; ++step) {
        CHECK(shards->observer.losses.at(step) ==
              Approx(whole->observer.losses.at(step)).epsilon(1e-5));
      }
      CHECK(shards->observer.train_examples == 48);
    }
  }
}

TEST_CASE("every shard starts from the states of the step, and leaves a part of their mean") {
  const auto counted = bench_of(mesh_of({4, 1, 1}));
  counted->trainer->train(5);
  CHECK(counted->weight("seen") == 5);
  // Micro-batches of a shard follow each other.
  const auto parts = bench_of(mesh_of({4, 1, 1}), 2);
  parts->trainer->train(5);
  CHECK(parts->weight("seen") == 10);

  // Rows 0 to 7 have x = row / 4. The shards' means are 0.125, 0.625, 1.125 and 1.625, half of each
  // is left, and the mean of that is 0.4375. One after another would end at 1.03.
  const auto averaged = bench_of(mesh_of({4, 1, 1}), 1, "averages");
  averaged->trainer->train(1);
  CHECK(averaged->weight("mean") == 0.4375);
}

TEST_CASE("a batch that makes no equal shards ends the training") {
  const auto bench = bench_of(mesh_of({3, 1, 1}));
  CHECK_THROWS_WITH(bench->trainer->train(1),
                    Contains("a batch of 8 rows makes no 3 equal shards") &&
                        Contains("set task.train_input.batch_size to a multiple"));
  const auto more = bench_of(mesh_of({16, 1, 1}));
  CHECK_THROWS_WITH(more->trainer->train(1), Contains("makes no 16 equal shards"));
}

TEST_CASE("shards have random numbers of their own, a single one those of the step") {
  const RngKey step(3);
  CHECK(ShardRange{}.key_of(step, 0) == step);
  const ShardRange two = ShardRange::all(2);
  CHECK(two.key_of(step, 0) != step);
  CHECK(two.key_of(step, 0) != two.key_of(step, 1));
  // Whichever process trains it.
  CHECK(ShardRange{.first = 1, .count = 1, .total = 2}.key_of(step, 1) == two.key_of(step, 1));
}

}  // namespace shards_test
