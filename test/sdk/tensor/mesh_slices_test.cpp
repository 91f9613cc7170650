// SPDX-License-Identifier: Apache-2.0
// Sums and gathers of processes in several slices: the bits of one process, and how much goes
// between slices. Threads act as the processes, and their data come late.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include <catch2/catch.hpp>

#include "sdk/tensor/late_group.h"
#include "sdk/tensor/shard_sums.h"
#include "sdk/tensor/tensor_bits.h"
#include "support/plugins.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tensor/canonical_sum.h"
#include "trivet/tensor/mesh_shards.h"

namespace mesh_slices_test {
namespace {

using namespace trivet;
using test::Bits;
using test::bits_of;
using test::LateRank;
using test::LateRun;
using test::on_late_ranks;
using test::sum_of_own;

using Extents = std::vector<std::int64_t>;
using Ranges = std::vector<MeshShards::Range>;

MeshConfig mesh_of(Extents ici, Extents dcn) {
  MeshConfig mesh;
  mesh.ici_mesh_shape = std::move(ici);
  mesh.dcn_mesh_shape = std::move(dcn);
  return mesh;
}

const MeshConfig kMeshes[] = {mesh_of({4, 1, 1}, {2, 1, 1}), mesh_of({2, 1, 1}, {4, 1, 1}),
                              mesh_of({2, 2, 1}, {1, 2, 1}), mesh_of({1, 4, 1}, {1, 1, 2}),
                              mesh_of({3, 1, 1}, {2, 1, 1}), mesh_of({1, 2, 1}, {3, 1, 1}),
                              mesh_of({1, 2, 2}, {1, 2, 1}), mesh_of({8, 1, 1}, {2, 1, 1})};

// Lengths from 0 to much more than others, or of the pieces of devices.
Ranges random_parts(std::mt19937& random, std::int64_t processes) {
  Ranges parts;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < processes; ++i) {
    const std::int64_t most = random() % 4 == 0 ? 60'000 : 9'000;
    const std::int64_t size = random() % 5 == 0 ? 0 : static_cast<std::int64_t>(random()) % most;
    parts.push_back({begin, begin + size});
    begin += size;
  }
  if (begin == 0) parts.back().end = 20'000;
  return parts;
}

// Sums and gathers of all kinds, by any number of processes, against those of one process.
void check_exchanges(const MeshConfig& mesh) {
  const MeshLayout layout(mesh);
  for (const std::int64_t count : {2, 3, 4, 6, 8}) {
    if (!layout.can_share(count)) continue;
    std::mt19937 random(7);
    for (int round = 0; round < 4; ++round) {
      CAPTURE(mesh.ici_mesh_shape, mesh.dcn_mesh_shape, count, round);
      const std::int64_t equal = std::array{1, 16'384, 16'385, 140'001}[round];
      const Ranges uneven = random_parts(random, count);
      const std::int64_t length = uneven.back().end;
      const auto device = test::open_device("tiny/Backend");
      const MeshShards one(mesh, nullptr);
      const auto expected = bits_of(sum_of_own(*device, one, equal));
      const auto of_uneven = bits_of(sum_of_own(*device, one, length));
      std::mutex mutex;
      std::vector<std::string> wrong;
      const LateRun run =
          on_late_ranks(static_cast<int>(count), 1, [&](ProcessGroup& group, LateRank& own) {
            const auto own_device = test::open_device("tiny/Backend");
            const MeshShards shards(mesh, &group);
            const auto rank = static_cast<std::size_t>(group.rank());
            const Tensor values = sum_of_own(*own_device, shards, equal);
            const Tensor other = sum_of_own(*own_device, shards, length);
            const Ranges parts = shards.parts_of(equal);
            const auto part_of = [&](const Ranges& of) {
              return Tensor::zeros(*own_device, {of[rank].size()});
            };
            Tensor a = part_of(parts), b = part_of(uneven), c = part_of(parts), d = part_of(parts);
            Tensor all_a = Tensor::zeros(*own_device, {equal});
            Tensor all_c = Tensor::zeros(*own_device, {equal});
            Tensor all_d = Tensor::zeros(*own_device, {equal});
            Tensor all_b = Tensor::zeros(*own_device, {length});
            // Several under way at once, of both kinds; each rank waits in an order of its own.
            const auto wait_all = [&](std::vector<std::unique_ptr<Transfer>> transfers) {
              std::ranges::shuffle(transfers, own.random);
              for (const auto& one_of_them : transfers) one_of_them->wait();
            };
            std::vector<std::unique_ptr<Transfer>> started;
            started.push_back(shards.start_sum_to_part(values, parts, a));
            started.push_back(shards.start_sum_to_part(other, uneven, b));
            started.push_back(shards.start_sum_to_part(values, parts, c));
            wait_all(std::move(started));
            started.clear();
            started.push_back(shards.start_gather_parts(a, parts, all_a));
            started.push_back(shards.start_gather_parts(b, uneven, all_b));
            started.push_back(shards.start_gather_parts(c, parts, all_c));
            Tensor again = part_of(parts);
            shards.sum_to_part(values, parts, again);
            started.push_back(shards.start_sum_to_part(values, parts, d));
            Tensor whole = sum_of_own(*own_device, shards, equal);
            shards.sum(whole);
            wait_all(std::move(started));
            Tensor all_again = Tensor::zeros(*own_device, {equal});
            shards.gather_parts(again, parts, all_again);
            shards.gather_parts(d, parts, all_d);
            const std::scoped_lock lock(mutex);
            const auto check = [&](const char* name, const Tensor& found, const auto& bits) {
              if (bits_of(found) != bits) wrong.push_back(name);
            };
            check("first", all_a, expected);
            check("uneven", all_b, of_uneven);
            check("third", all_c, expected);
            check("beside others", all_d, expected);
            check("again", all_again, expected);
            check("whole", whole, expected);
          });
      CHECK(run.errors == std::vector<std::string>());
      CHECK(wrong == std::vector<std::string>());
    }
  }
}

}  // namespace

TEST_CASE("sums and gathers between slices have the bits of one process, in any order of waits") {
  check_exchanges(mesh_of({2, 1, 2}, {2, 1, 1}));
}

TEST_CASE("exchanges between slices of meshes of all kinds have the bits of one process",
          "[slow]") {
  for (const MeshConfig& mesh : kMeshes) check_exchanges(mesh);
}

TEST_CASE("of n processes of a slice each sends 1/n of its bytes to other slices", "[slow]") {
  struct Case {
    MeshConfig mesh;
    int processes = 8, in_slice = 4, factor = 4;
  };
  // Along mdl processes have parts of the same sum: the sums of two of four are added in a slice.
  const Case cases[] = {{mesh_of({4, 1, 1}, {2, 1, 1}), 8, 4, 4},
                        {mesh_of({2, 1, 1}, {4, 1, 1}), 8, 2, 2},
                        {mesh_of({1, 3, 1}, {1, 2, 1}), 6, 3, 3},
                        {mesh_of({4, 1, 1}, {2, 1, 1}), 4, 2, 2},
                        {mesh_of({1, 2, 2}, {1, 2, 1}), 8, 4, 2}};
  enum class What { sum, sum_short, sum_to_part, start_sum, gather, start_gather };
  for (const Case& known : cases) {
    MeshConfig flat = known.mesh;
    flat.ici_mesh_shape = known.mesh.shape();
    flat.dcn_mesh_shape = {};
    for (const What what : {What::sum, What::sum_short, What::sum_to_part, What::start_sum,
                            What::gather, What::start_gather}) {
      // So that all parts are equal; the sum takes several segments.
      const std::int64_t length = what == What::sum_short ? 9'600 : 8 * 9 * 16'384;
      const auto sent = [&](const MeshConfig& mesh) {
        const auto body = [&](ProcessGroup& group, LateRank& own) {
          const auto device = test::open_device("tiny/Backend");
          const MeshShards shards(mesh, &group);
          Tensor block = Tensor::zeros(*device, {length});
          const Ranges parts = shards.parts_of(length);
          Tensor part = Tensor::zeros(*device, {shards.own_part(length).size()});
          own.between = 0;
          switch (what) {
            case What::sum:
            case What::sum_short:
              return shards.sum(block);
            case What::sum_to_part:
              return shards.sum_to_part(block, parts, part);
            case What::start_sum:
              return shards.start_sum_to_part(block, parts, part)->wait();
            case What::gather:
              return shards.gather_parts(part, parts, block);
            case What::start_gather:
              return shards.start_gather_parts(part, parts, block)->wait();
          }
        };
        return on_late_ranks(known.processes, known.in_slice, body);
      };
      const LateRun before = sent(flat), after = sent(known.mesh);
      CAPTURE(known.mesh.ici_mesh_shape, known.mesh.dcn_mesh_shape, known.processes,
              static_cast<int>(what));
      CHECK(before.errors.empty());
      CHECK(after.errors.empty());
      const bool is_gather = what == What::gather || what == What::start_gather;
      for (std::size_t rank = 0; rank < after.between.size(); ++rank) {
        CHECK(after.between[rank] > 0);
        CHECK(after.between[rank] * (is_gather ? known.in_slice : known.factor) ==
              before.between[rank]);
      }
    }
  }
}

TEST_CASE("processes that span slices, or are alone in theirs, exchange with all") {
  const auto in_slice = [](const MeshConfig& mesh, std::int64_t processes) {
    Extents ranks;
    for (std::int64_t rank = 0; rank < processes; ++rank) ranks.push_back(rank);
    return MeshLayout(mesh).in_slice(ranks, processes);
  };
  const MeshConfig four = mesh_of({2, 1, 1}, {4, 1, 1});
  CHECK(in_slice(four, 8) == 2);
  CHECK(in_slice(four, 4) == 1);
  CHECK(in_slice(four, 2) == 1);
  CHECK(in_slice(mesh_of({8, 1, 1}, {}), 8) == 1);
  const MeshLayout layout(four);
  CHECK((layout.slices_of(1, 2) == MeshLayout::Run{2, 2}));
  CHECK((layout.slices_of(5, 8) == MeshLayout::Run{2, 1}));
  // Two of one slice, and one of another.
  CHECK(layout.in_slice(Extents{0, 1, 2}, 8) == 1);
  CHECK(layout.in_slice(Extents{0, 2, 4}, 8) == 1);
  CHECK(layout.in_slice(Extents{0, 1}, 8) == 1);
  CHECK(layout.in_slice(Extents{0, 1, 4, 5}, 8) == 2);
}

TEST_CASE("the processes of a slice are a part of each sum") {
  std::mt19937 random(3);
  int checked = 0;
  for (int round = 0; round < 300; ++round) {
    MeshConfig mesh;
    mesh.mesh_axis_names = {"replica", "mdl", "data", "data_expert"};
    std::ranges::shuffle(mesh.mesh_axis_names, random);
    for (std::size_t i = 0; i < 4; ++i) {
      mesh.ici_mesh_shape.push_back(1 + static_cast<std::int64_t>(random() % 4));
      mesh.dcn_mesh_shape.push_back(1 + static_cast<std::int64_t>(random() % 3));
    }
    const MeshLayout layout(mesh);
    for (const std::int64_t processes : layout.process_counts()) {
      Extents ranks;
      for (std::int64_t rank = 0; rank < processes; ++rank) {
        if (layout.work_of(rank, processes) == layout.work_of(0, processes)) ranks.push_back(rank);
      }
      const std::int64_t in_slice = layout.in_slice(ranks, processes);
      if (in_slice == 1) continue;
      const auto own = layout.shard_tree().split(layout.shards_of(0, processes).count);
      REQUIRE(own);
      CHECK(own->second.size() == std::ssize(ranks));
      CHECK(own->second.split(in_slice));
      ++checked;
    }
  }
  CHECK(checked > 300);
}

}  // namespace mesh_slices_test
