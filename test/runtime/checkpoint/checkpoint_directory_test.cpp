// SPDX-License-Identifier: Apache-2.0
// Tensors that are larger than what is read at a time.
#include "checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/shell.h"
#include "trivet/tensor.h"

using namespace trivet;

namespace checkpoint_directory_test {
namespace {

float value_at(std::size_t i) {
  return static_cast<float>(i % 1000003);
}

// A line of /proc/self/status, e.g. VmHWM, in KiB.
std::int64_t status_of(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == name + ":" && status >> kib) return kib;
  }
  return -1;
}

}  // namespace

TEST_CASE("a checkpoint is read in pieces, and never in memory as a whole") {
  // Rows of more than a piece, of less, and with a last piece that is shorter.
  NamedTensors tensors = {{"long", Tensor::host({3, 5000000})},
                          {"short", Tensor::host({1701, 9973})},
                          {"one", Tensor::host({})}};
  for (auto& [name, tensor] : tensors) {
    const auto values = tensor.mutable_span<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_at(i);
  }
  const test::TempDir dir;
  CheckpointDirectoryWriter writer(dir.path());
  writer.write_tensors("model", tensors);
  writer.finish(3);
  const CheckpointDirectoryReader reader(dir.path());
  for (auto& [name, tensor] : tensors) std::ranges::fill(tensor.mutable_span<float>(), -1.0f);

  std::ofstream reset("/proc/self/clear_refs");
  REQUIRE(reset << "5" << std::flush);  // VmHWM starts again
  const std::int64_t before = status_of("VmRSS");
  reader.read_tensors("model", tensors, OtherTensors::refused);
  constexpr std::int64_t kMost = 48000;  // KiB
  CHECK(status_of("VmHWM") - before < kMost);
  REQUIRE(std::filesystem::file_size(dir.path() / "model.safetensors") > 2 * kMost * 1024);
  for (auto& [name, tensor] : tensors) {
    const auto values = tensor.mutable_span<float>();
    bool same = true;
    for (std::size_t i = 0; i < values.size(); ++i) same = same && values[i] == value_at(i);
    INFO(name);
    CHECK(same);
  }
}

}  // namespace checkpoint_directory_test
