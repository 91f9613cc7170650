// SPDX-License-Identifier: Apache-2.0
// Sums over processes against the sum of one process; threads act as the processes.
#include "trivet/tensor/mesh_shards.h"

#include <cstdint>
#include <utility>

#include <catch2/catch.hpp>

#include "sdk/tensor/shard_sums.h"
#include "sdk/tensor/tensor_bits.h"
#include "support/plugins.h"
#include "support/thread_group.h"
#include "trivet/backend/mesh.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace mesh_shards_test {
namespace {

using trivet::MeshConfig;
using trivet::MeshShards;
using trivet::ProcessGroup;
using trivet::Tensor;
using trivet::test::Bits;
using trivet::test::bits_of;
using trivet::test::on_ranks;
using trivet::test::SharedRanks;
using trivet::test::sum_of_own;
using trivet::test::ThreadGroup;

MeshConfig mesh_of(std::vector<std::int64_t> ici) {
  MeshConfig mesh;
  mesh.ici_mesh_shape = std::move(ici);
  return mesh;
}

}  // namespace

TEST_CASE("a sum over processes has the bits of one process, for lengths of all kinds", "[slow]") {
  struct Case {
    std::vector<std::int64_t> mesh;
    std::vector<int> processes;
  };
  const Case cases[] = {{{8, 1, 1}, {2, 4, 8}}, {{2, 6, 1}, {2, 6}}, {{3, 2, 1}, {3, 6}}};
  for (const auto& [mesh, counts] : cases) {
    // The last one is exchanged in several segments.
    for (const std::int64_t length : {1, 7, 16'384, 16'385, 40'003, 600'001}) {
      const auto device = trivet::test::open_device("tiny/Backend");
      const auto expected =
          bits_of(sum_of_own(*device, MeshShards(mesh_of(mesh), nullptr), length));
      for (const int count : counts) {
        std::vector<Bits> found(static_cast<std::size_t>(count));
        on_ranks(count, [&, &mesh = mesh](ProcessGroup& group) {
          const auto own_device = trivet::test::open_device("tiny/Backend");
          const MeshShards shards(mesh_of(mesh), &group);
          for (int round = 0; round < 2; ++round) {
            Tensor own = sum_of_own(*own_device, shards, length);
            shards.sum(own);
            found[static_cast<std::size_t>(group.rank())] = bits_of(own);
          }
        });
        CAPTURE(mesh, length, count);
        for (const auto& bits : found) CHECK((bits == expected));
      }
    }
  }
}

TEST_CASE("the pieces of shards cover a block, and those of a process are one part of it") {
  struct Case {
    std::int64_t elements, shards;
    std::vector<MeshShards::Range> pieces;
  };
  // 100 elements in 4 pieces: 25 are rounded up to 32, and 4 are left for the last one.
  const Case by_hand[] = {{100, 4, {{0, 32}, {32, 64}, {64, 96}, {96, 100}}},
                          {20, 3, {{0, 16}, {16, 20}, {20, 20}}}};
  for (const Case& known : by_hand) {
    const MeshShards shards(mesh_of({known.shards, 1, 1}), nullptr);
    for (std::int64_t i = 0; i < known.shards; ++i) {
      CHECK((shards.piece(known.elements, i) == known.pieces[static_cast<std::size_t>(i)]));
    }
  }
  for (const std::int64_t elements : {0, 1, 16'385, 40'003, 40'960}) {
    on_ranks(4, [&](ProcessGroup& group) {
      const MeshShards shards(mesh_of({8, 1, 1}), &group);
      std::int64_t end = 0;
      for (std::int64_t i = 0; i < shards.total(); ++i) {
        const MeshShards::Range piece = shards.piece(elements, i);
        const bool follows = piece.begin == end && (piece.begin % 16 == 0 || piece.size() == 0);
        if (!follows) throw trivet::Error("a piece is elsewhere");
        end = piece.end;
      }
      const MeshShards::Range own = shards.own_part(elements);
      const bool is_own = own.begin == shards.piece(elements, shards.first()).begin &&
                          own.end == shards.piece(elements, shards.first() + 1).end;
      if (end != elements || !is_own) throw trivet::Error("a part is elsewhere");
    });
  }
}

TEST_CASE("parts of a sum are those of the sum, and come together again", "[slow]") {
  struct Case {
    MeshConfig mesh;
    std::int64_t length;
  };
  MeshConfig swapped = mesh_of({4, 2});
  swapped.mesh_axis_names = {"mdl", "data"};
  // The last of 64 pieces of 16,400 elements are empty. Along mdl processes have the same shards.
  const Case cases[] = {{mesh_of({8, 1, 1}), 40'003},
                        {mesh_of({8, 1, 1}), 40'960},
                        {mesh_of({64, 1, 1}), 16'400},
                        {mesh_of({2, 2, 2}), 40'003},
                        {mesh_of({1, 2, 4}), 40'960},
                        {mesh_of({1, 1, 8}), 16'400},
                        {swapped, 40'003},
                        // In several segments.
                        {mesh_of({8, 1, 1}), 1'200'001},
                        {mesh_of({2, 2, 2}), 1'200'001}};
  for (const auto& [mesh, length] : cases) {
    const auto device = trivet::test::open_device("tiny/Backend");
    const auto expected = bits_of(sum_of_own(*device, MeshShards(mesh, nullptr), length));
    for (const int count : {2, 4, 8}) {
      std::vector<Bits> parts(static_cast<std::size_t>(count)), all(parts);
      on_ranks(count, [&, &mesh = mesh, length = length](ProcessGroup& group) {
        const auto own_device = trivet::test::open_device("tiny/Backend");
        const MeshShards shards(mesh, &group);
        const Tensor own = sum_of_own(*own_device, shards, length);
        Tensor block = Tensor::zeros(*own_device, {length});
        const auto cut = shards.parts_of(length);
        const MeshShards::Range mine = shards.own_part(length);
        Tensor part = trivet::ops::slice(block, 0, mine.begin, mine.end);
        shards.sum_to_part(own, cut, part);
        const auto rank = static_cast<std::size_t>(group.rank());
        parts[rank] = bits_of(block);
        shards.gather_parts(block, cut);
        all[rank] = bits_of(block);
      });
      CAPTURE(mesh.ici_mesh_shape, length, count);
      Bits joined(static_cast<std::size_t>(length));
      for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        CHECK((all[rank] == expected));
        for (std::size_t i = 0; i < joined.size(); ++i) joined[i] |= parts[rank][i];
      }
      CHECK((joined == expected));
    }
  }
}

TEST_CASE("parts of a sum may have any lengths") {
  using Range = MeshShards::Range;
  const auto cut_of = [](const std::vector<std::int64_t>& sizes) {
    std::vector<Range> cut;
    for (const std::int64_t size : sizes) {
      const std::int64_t begin = cut.empty() ? 0 : cut.back().end;
      cut.push_back({begin, begin + size});
    }
    return cut;
  };
  // Some are exchanged in several segments, and by even parts, which others own.
  const std::vector<Range> cuts[] = {
      cut_of({3, 0, 37, 5}), cut_of({0, 0, 20'003, 0}), cut_of({600'001, 1, 0, 99'998}),
      cut_of({0, 9, 40'000, 0, 16, 30, 70'001, 3}), cut_of({0, 0, 0, 0, 0, 1'200'000, 0, 0})};
  for (const std::vector<Range>& cut : cuts) {
    const auto processes = static_cast<std::int64_t>(cut.size());
    // Along mdl processes have other parts of the same sum.
    for (const MeshConfig& mesh : {mesh_of({processes, 1, 1}), mesh_of({processes / 2, 1, 2})}) {
      const std::int64_t length = cut.back().end;
      const auto device = trivet::test::open_device("tiny/Backend");
      const auto expected = bits_of(sum_of_own(*device, MeshShards(mesh, nullptr), length));
      std::vector<Bits> of_block(cut.size()), of_part(cut.size());
      on_ranks(static_cast<int>(cut.size()), [&](ProcessGroup& group) {
        const auto own_device = trivet::test::open_device("tiny/Backend");
        const MeshShards shards(mesh, &group);
        const Tensor own = sum_of_own(*own_device, shards, length);
        const auto rank = static_cast<std::size_t>(group.rank());
        Tensor part = Tensor::zeros(*own_device, {cut[rank].size()});
        shards.sum_to_part(own, cut, part);
        Tensor block = Tensor::zeros(*own_device, {length});
        shards.gather_parts(part, cut, block);
        of_part[rank] = bits_of(block);
        Tensor same = Tensor::zeros(*own_device, {length});
        if (part.size() > 0) {
          trivet::ops::slice(same, 0, cut[rank].begin, cut[rank].end)
              .assign_bytes(std::as_bytes(part.span<float>()));
        }
        shards.gather_parts(same, cut);
        of_block[rank] = bits_of(same);
      });
      CAPTURE(mesh.ici_mesh_shape, length);
      for (std::size_t rank = 0; rank < cut.size(); ++rank) {
        CHECK((of_part[rank] == expected));
        CHECK((of_block[rank] == expected));
      }
    }
  }
}

TEST_CASE("numbers and flags of all processes come together in the order of shards") {
  std::vector<std::vector<double>> numbers(4);
  std::vector<std::vector<std::uint8_t>> flags(4);
  on_ranks(4, [&](ProcessGroup& group) {
    const MeshShards shards(mesh_of({4, 2, 1}), &group);
    const auto rank = static_cast<std::size_t>(group.rank());
    const auto first = static_cast<double>(shards.first());
    const double own[] = {first, first + 1};
    numbers[rank] = shards.gather(own);
    flags[rank] = {0, static_cast<std::uint8_t>(rank == 2 ? 3 : 0), 1};
    shards.any(flags[rank]);
  });
  for (const auto& all : numbers) CHECK(all == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  for (const auto& any : flags) CHECK(any == std::vector<std::uint8_t>{0, 1, 1});
}

TEST_CASE("processes exchange memory that is not together") {
  constexpr std::size_t kSize = 3;
  std::vector<std::vector<std::string>> found(kSize);
  on_ranks(kSize, [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    std::vector<std::string> mine, theirs;
    for (std::size_t r = 0; r < kSize; ++r) {
      // Nothing from 0 to 1.
      mine.push_back(std::string(rank * 2 + r, 'a') + std::to_string(rank) + std::to_string(r));
      theirs.push_back(std::string(r * 2 + rank + 2, '-'));
      if (rank == 0 && r == 1) mine.back().clear();
      if (rank == 1 && r == 0) theirs.back().clear();
    }
    std::vector<std::span<const std::byte>> sent;
    std::vector<std::span<std::byte>> received;
    for (const std::string& text : mine) sent.push_back(std::as_bytes(std::span(text)));
    for (std::string& text : theirs) received.push_back(std::as_writable_bytes(std::span(text)));
    group.exchange(sent, received);
    found[rank] = theirs;
  });
  CHECK(found[0] == std::vector<std::string>{"--", "aa10", "aaaa20"});
  CHECK(found[1] == std::vector<std::string>{"", "-----", "aaaaa21"});
  CHECK(found[2] == std::vector<std::string>{"aa02", "aaaa12", "--------"});
}

TEST_CASE("texts of all lengths reach all processes") {
  std::vector<std::vector<std::string>> all(3);
  std::vector<std::string> sent(3);
  on_ranks(3, [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    all[rank] =
        trivet::all_gather_text(group, std::string(rank * 1000, static_cast<char>('a' + rank)));
    sent[rank] = trivet::broadcast_text(group, rank == 0 ? "an order" : "");
  });
  for (const auto& texts : all) {
    CHECK(texts == std::vector<std::string>{"", std::string(1000, 'b'), std::string(2000, 'c')});
  }
  CHECK(sent == std::vector<std::string>(3, "an order"));
}

TEST_CASE("one process has all shards, and a wrong number of processes or values is refused") {
  const MeshShards alone(mesh_of({2, 3, 1}), nullptr);
  CHECK(alone.total() == 6);
  CHECK(alone.count() == 6);
  CHECK(alone.first() == 0);
  CHECK(alone.pieces() == 6);
  CHECK(alone.piece_count() == 6);
  CHECK(alone.all() == nullptr);
  CHECK(alone.group() == nullptr);
  const double numbers[] = {1, 2, 3, 4, 5, 6};
  CHECK(alone.gather(numbers) == std::vector<double>(std::begin(numbers), std::end(numbers)));
  CHECK_THROWS_AS(alone.gather(std::span(numbers).first(5)), trivet::Error);
  CHECK(MeshShards().total() == 1);
  SharedRanks shared(3);
  ThreadGroup group(shared, 0);
  CHECK_THROWS_WITH(MeshShards(mesh_of({4, 1, 1}), &group),
                    "3 processes cannot share the 4 devices of the mesh");
  // Two of three neighbors are no part of a sum from left to right.
  CHECK_FALSE(trivet::SumTree(std::vector<std::int64_t>{6}).split(4));
  CHECK(trivet::SumTree(std::vector<std::int64_t>{6}).split(2));
}

}  // namespace mesh_shards_test
