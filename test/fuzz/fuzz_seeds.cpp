// SPDX-License-Identifier: Apache-2.0
// fuzz_seeds DIR: writes the seeds of every target to DIR/TARGET/, for libFuzzer to start from.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "fuzz_target.h"

namespace {

void write_seeds(const trivet::test::FuzzTarget& target, const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  int number = 0;
  for (const std::string& seed : target.seeds()) {
    std::ofstream file(directory / ("seed_" + std::to_string(number++)), std::ios::binary);
    if (!(file << seed).flush()) throw std::runtime_error("cannot write to " + directory.string());
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: fuzz_seeds DIR\n", stderr);
    return 2;
  }
  try {
    for (const auto& target : trivet::test::fuzz_targets()) {
      write_seeds(target, std::filesystem::path(words[1]) / target.name);
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "fuzz_seeds: %s\n", failure.what());
    return 1;
  }
}
