// SPDX-License-Identifier: Apache-2.0
// Processes that write a checkpoint together: the files are those of one process.
#include "checkpoint/checkpoint_part.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "checkpoint/checkpoint_snapshot.h"
#include "runtime/train/train_parts.h"
#include "support/shell.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/os/file.h"
#include "trivet/tape.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/tensor_part.h"

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace checkpoint_part_test {
namespace {

// Of which processes have parts or which they have alike; none has a length that they divide.
struct Variable {
  std::string name;
  Shape shape;
  bool is_shared = false;
  DType dtype = DType::f32;
};
const std::vector<Variable>& variables() {
  static const std::vector<Variable> all = {{"alike/small", {3, 5}},
                                            {"parts/a", {1237}, true},
                                            {"alike/half", {41}, false, DType::bf16},
                                            {"parts/scalar", {}, true},
                                            {"alike/large", {1000, 7}},
                                            {"alike/none", {0}},
                                            {"parts/b", {2, 700}, true}};
  return all;
}

Tensor value_of(Device& device, const Variable& variable) {
  std::vector<float> values(static_cast<std::size_t>(variable.shape.size()));
  std::iota(values.begin(), values.end(), static_cast<float>(variable.name.size()));
  const NoGrad no_grad;
  return ops::cast(Tensor::from<float>(device, values, variable.shape), variable.dtype);
}

// Of a process; the parts of a variable are of different sizes.
std::vector<TensorPart> parts_of(Device& device, int rank, int processes) {
  std::vector<TensorPart> parts;
  for (const Variable& variable : variables()) {
    TensorPart& part =
        parts.emplace_back(TensorPart{variable.name, variable.shape, value_of(device, variable)});
    if (!variable.is_shared) continue;
    const std::int64_t size = variable.shape.size();
    const auto begin_of = [&](std::int64_t r) {
      return r == processes ? size : std::min(size, r * (size / processes));
    };
    const NoGrad no_grad;
    part.begin = begin_of(rank);
    part.values = ops::slice(ops::reshape(part.values, {size}), 0, part.begin, begin_of(rank + 1));
    part.is_shared = true;
  }
  return parts;
}

WrittenPart write(Device& device, const fs::path& directory, int rank, int processes) {
  CheckpointSnapshot snapshot({.rank = rank, .processes = processes});
  snapshot.write_parts("model", parts_of(device, rank, processes));
  snapshot.write_parts("optimizer", {});
  return snapshot.write(directory);
}

}  // namespace

TEST_CASE("processes write the files of one process, each an equal part") {
  const auto device = test::open_tiny();
  const test::TempDir dir;
  std::vector<SafetensorsEntry> entries;
  std::vector<std::vector<std::byte>> data;
  for (const Variable& variable : variables()) {
    data.push_back(value_of(*device, variable).to_bytes());
    entries.push_back({variable.name, variable.dtype, variable.shape, data.back()});
  }
  write_safetensors(dir.path() / "expected", entries);
  const std::string expected = read_text_file(dir.path() / "expected");
  for (const int processes : {1, 2, 3, 8}) {
    CAPTURE(processes);
    const fs::path directory = dir.path() / std::to_string(processes);
    fs::create_directory(directory);
    std::vector<WrittenPart> parts(static_cast<std::size_t>(processes));
    // The first one writes last.
    for (int rank = processes - 1; rank >= 0; --rank) {
      parts[static_cast<std::size_t>(rank)] =
          written_part_of(to_text(write(*device, directory, rank, processes)));
    }
    CHECK((read_text_file(directory / "model.safetensors") == expected));
    CHECK(fs::file_size(directory / "optimizer.safetensors") ==
          safetensors_header(std::vector<SafetensorsEntry>()).size());
    const std::vector<WrittenSum> sums = sums_of(parts);
    REQUIRE(sums.size() == 2);
    CHECK(sums[0].name == "model.safetensors");
    CHECK(sums[0].sum.size == expected.size());
    const fs::path alone = dir.path() / ("alone" + std::to_string(processes));
    fs::create_directory(alone);
    const std::vector<WrittenPart> one = {write(*device, alone, 0, 1)};
    CHECK(sums[0].sum.crc32 == sums_of(one)[0].sum.crc32);
    CHECK(sums[1].sum.crc32 == sums_of(one)[1].sum.crc32);
    // A part and a share of what all have: none has copies of more than this.
    const std::uint64_t header = safetensors_header(entries).size();
    for (const WrittenPart& part : parts) {
      CHECK(bytes_of(part) <= expected.size() / static_cast<std::size_t>(processes) + header + 100);
    }
  }
}

TEST_CASE("parts that do not make up whole files are refused") {
  const auto device = test::open_tiny();
  const test::TempDir dir;
  std::vector<WrittenPart> parts;
  for (int rank = 0; rank < 3; ++rank) parts.push_back(write(*device, dir.path(), rank, 3));
  CHECK_NOTHROW(sums_of(parts));
  SECTION("a part is missing") {
    parts[1][0].ranges.erase(parts[1][0].ranges.begin());
    CHECK_THROWS_WITH(sums_of(parts), Contains("do not make up whole tensors"));
  }
  SECTION("the last part is missing") {
    parts[2][0].ranges.pop_back();
    CHECK_THROWS_WITH(sums_of(parts), Contains("do not make up whole tensors"));
  }
  SECTION("a part is written twice") {
    parts[2][0].ranges.push_back(parts[1][0].ranges.back());
    CHECK_THROWS_WITH(sums_of(parts), Contains("do not make up whole tensors"));
  }
  SECTION("a process has other tensors") {
    CheckpointSnapshot other({.rank = 2, .processes = 3});
    std::vector<TensorPart> renamed = parts_of(*device, 2, 3);
    renamed[0].name = "alike/smell";
    other.write_parts("model", renamed);
    other.write_parts("optimizer", {});
    parts[2] = other.write(dir.path());
    CHECK_THROWS_WITH(
        sums_of(parts),
        Contains("process 2 of 3 saves other tensors in model.safetensors than process 0"));
  }
  SECTION("a process has fewer files") {
    parts[1].pop_back();
    CHECK_THROWS_WITH(sums_of(parts), Contains("other tensors in optimizer.safetensors"));
  }
}

TEST_CASE("a checkpoint gives each process its parts alone") {
  const auto device = test::open_tiny();
  const test::TempDir dir;
  const WrittenPart written = write(*device, dir.path(), 0, 1);
  CheckpointDirectoryWriter writer(dir.path());
  for (const auto& [name, sum] : sums_of(std::vector<WrittenPart>{written})) {
    writer.written(name, sum);
  }
  writer.finish(7);
  const CheckpointDirectoryReader whole(dir.path());
  for (int rank = 0; rank < 3; ++rank) {
    const std::vector<TensorPart> parts = parts_of(*device, rank, 3);
    std::vector<std::vector<std::byte>> expected;
    for (const TensorPart& part : parts) {
      expected.push_back(part.values.to_bytes());
      Tensor values = part.values;
      values.assign_bytes(std::vector<std::byte>(values.bytes()));
    }
    whole.read_parts("model", parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      CHECK((parts[i].values.to_bytes() == expected[i]));
    }
  }
}

}  // namespace checkpoint_part_test
