// SPDX-License-Identifier: Apache-2.0
// Runs each fuzz target briefly: its seeds, inputs found by fuzzing, and damaged seeds.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fuzz_target.h"
#include "support/paths.h"
#include "support/shell.h"

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  // Makes one to four changes: changes a byte, removes or inserts a piece, inserts a piece of
  // another seed, or cuts the end.
  std::string of(std::string bytes, const std::string& other) {
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(bytes, other);
    return bytes;
  }
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

 private:
  void change(std::string& bytes, const std::string& other) {
    const std::size_t at = below(bytes.size());
    const std::string piece = other.substr(below(other.size()), 1 + below(30));
    switch (below(6)) {
      case 0:
        bytes.erase(at, 1 + below(30));
        break;
      case 1:
        bytes.insert(at, piece);
        break;
      case 2:
        bytes.resize(at);
        break;
      default:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random_());
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("every seed of a fuzz target is accepted") {
  for (const FuzzTarget& target : fuzz_targets()) {
    INFO(target.name);
    const std::vector<std::string> seeds = target.seeds();
    CHECK(seeds.size() >= 3);
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      INFO("seed " << i);
      CHECK(target.accepts(seeds[i]));
    }
  }
}

TEST_CASE("damaged seeds are accepted or refused, without other effects") {
  for (const FuzzTarget& target : fuzz_targets()) {
    INFO(target.name);
    const std::vector<std::string> seeds = target.seeds();
    Damage damage(17);
    int accepted = 0;
    constexpr int kRounds = 400;
    for (int round = 0; round < kRounds; ++round) {
      const std::string& seed = seeds[damage.below(seeds.size())];
      const std::string bytes = damage.of(seed, seeds[damage.below(seeds.size())]);
      INFO("round " << round << ":\n" << bytes);
      bool accepts = false;
      CHECK_NOTHROW(accepts = target.accepts(bytes));
      accepted += accepts ? 1 : 0;
    }
    // Both must occur, or the damage would test nothing.
    CHECK(accepted > 0);
    CHECK(accepted < kRounds);
  }
}
