// SPDX-License-Identifier: Apache-2.0
// The choice of an overlap from profiles that are made up, with times computed by hand.
#include "device/overlap_choice.h"

#include <catch2/catch.hpp>

namespace overlap_choice_test {
namespace {

using namespace trivet;
using Exchange = ExchangeProfile::Exchange;

constexpr double kMs = 1e-3;

Exchange gather(double compute, double transfer, std::uint64_t bytes = 4) {
  return {.kind = UnitExchange::Kind::gather,
          .bytes = bytes,
          .is_beside = true,
          .compute_seconds = compute * kMs,
          .seconds = transfer * kMs};
}

Exchange sum(double compute, double transfer, std::uint64_t bytes = 4) {
  Exchange one = gather(compute, transfer, bytes);
  one.kind = UnitExchange::Kind::sum;
  return one;
}

ExchangeProfile profile_of(std::vector<Exchange> exchanges, double rest) {
  ExchangeProfile profile{.steps = 1};
  profile.sequences.push_back(
      {.processes = {0}, .exchanges = std::move(exchanges), .rest_seconds = rest * kMs});
  return profile;
}

void check_step(const ExchangeProfile& profile, std::int64_t overlap, double exposed, double step) {
  CAPTURE(overlap);
  const ExpectedStep expected = expected_step(profile, overlap);
  CHECK(expected.exposed_seconds == Approx(exposed * kMs));
  CHECK(expected.seconds == Approx(step * kMs));
}

// Each small unit is computed with for 10 ms, and the last one takes 25 ms to gather.
ExchangeProfile one_large() {
  return profile_of({gather(0, 1), gather(10, 1), gather(10, 1), gather(10, 25)}, 5);
}

}  // namespace

TEST_CASE("a large unit is hidden once its gather begins early enough") {
  const ExchangeProfile profile = one_large();
  check_step(profile, 0, 28, 63);
  // It begins at 21 ms and is needed at 31 ms.
  check_step(profile, 1, 1 + 15, 51);
  check_step(profile, 2, 1 + 5, 41);
  // It begins at 3 ms; the first gather has nothing to hide behind.
  check_step(profile, 3, 1, 36);
  check_step(profile, 16, 1, 36);
  const OverlapChoice choice = choose_overlap(profile, 16);
  CHECK(choice.overlap == 3);
  CHECK(choice.expected.size() == 17);
  CHECK(choose_overlap(profile, 2).overlap == 2);
  CHECK(choose_overlap(profile, 0).overlap == 0);
}

TEST_CASE("sums wait for those before them, and the update for all") {
  const ExchangeProfile profile = profile_of({sum(3, 4), sum(3, 4), sum(3, 4)}, 2);
  check_step(profile, 0, 12, 23);
  check_step(profile, 1, 1 + 1 + 4, 17);
  // The network is the limit: it moves from 3 ms to 15 ms.
  check_step(profile, 2, 6, 17);
  CHECK(choose_overlap(profile, 16).overlap == 1);
}

TEST_CASE("gathers and sums share the network in the order of their starts") {
  const ExchangeProfile profile = profile_of({gather(0, 5), sum(2, 5), gather(2, 5)}, 1);
  check_step(profile, 0, 15, 20);
  // The second gather begins at 5 ms and moves first: the sum ends at 15 ms.
  check_step(profile, 1, 5 + 8, 18);
}

TEST_CASE("what cannot move beside a computation is exposed") {
  ExchangeProfile profile = one_large();
  profile.sequences[0].exchanges[3].is_beside = false;
  check_step(profile, 16, 1 + 25, 61);
  CHECK(choose_overlap(profile, 16).overlap == 1);
}

TEST_CASE("the smallest overlap that is within 1 % of a step is chosen") {
  // With 1 the last gather ends 0.5 ms late, with 2 in time; a step is 100 ms.
  check_step(profile_of({gather(0, 1), gather(3, 1), gather(96, 96.5)}, 0), 1, 1.5, 100.5);
  check_step(profile_of({gather(0, 1), gather(3, 1), gather(96, 96.5)}, 0), 2, 1, 100);
  CHECK(choose_overlap(profile_of({gather(0, 1), gather(3, 1), gather(96, 96.5)}, 0), 16).overlap ==
        1);
  // Two milliseconds late.
  CHECK(choose_overlap(profile_of({gather(0, 1), gather(3, 1), gather(96, 98)}, 0), 16).overlap ==
        2);
  CHECK(choose_overlap(profile_of({gather(1000, 1), gather(3, 1)}, 0), 16).overlap == 0);
}

TEST_CASE("the processes that take longest count") {
  ExchangeProfile profile = one_large();
  ExchangeProfile other = profile_of({gather(200, 1), gather(200, 1)}, 0);
  other.sequences[0].processes = {1};
  profile.sequences.push_back(other.sequences[0]);
  check_step(profile, 0, 2, 402);
  CHECK(choose_overlap(profile, 16).overlap == 0);
}

TEST_CASE("exchanges under way take the memory of the largest units") {
  const ExchangeProfile profile =
      profile_of({gather(0, 1, 10), gather(0, 1, 30), sum(0, 1, 7), gather(0, 1, 20)}, 0);
  CHECK(bytes_under_way(profile, 0) == 0);
  CHECK(bytes_under_way(profile, 1) == 30 + 2 * 7);
  CHECK(bytes_under_way(profile, 2) == 50 + 2 * 7);
  CHECK(bytes_under_way(profile, 16) == 60 + 2 * 7);
}

}  // namespace overlap_choice_test
