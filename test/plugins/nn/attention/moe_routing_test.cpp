// SPDX-License-Identifier: Apache-2.0
// How often experts are drawn, against the probabilities of the rules.
#include "nn/attention/moe_routing.h"

#include <array>
#include <cmath>

#include <catch2/catch.hpp>

#include "trivet/tensor/random.h"

namespace nn_moe_routing_test {
namespace {

using trivet::nn::Gates;
using trivet::nn::Routes;
using trivet::nn::SecondExpert;
using trivet::nn::SecondExpertPolicy;

constexpr std::size_t kPlaces = 20000, kExperts = 4;
// The first choice is 2; the others have shares 0.25, 0.125 and 0.625 of what is left.
const std::array<float, kExperts> kGates{0.1F, 0.05F, 0.6F, 0.25F};

// The share of the positions whose second choice is served by each expert, and of those without.
std::array<double, kExperts + 1> served(SecondExpertPolicy policy, float threshold) {
  std::vector<float> gates;
  for (std::size_t i = 0; i < kPlaces * kExperts; ++i) gates.push_back(kGates[i % kExperts]);
  std::vector<float> uniforms(policy == SecondExpertPolicy::sampling ? gates.size() : kPlaces);
  trivet::random_uniform(trivet::RngKey(5), 0, 1, uniforms);
  const Gates problem{gates, {}, kPlaces, kExperts, 1};
  const Routes routes = top2_routes(problem, -1, {policy, uniforms, threshold});
  std::array<double, kExperts + 1> shares{};
  const Routes::Choice& second = routes.choices[1];
  for (std::size_t i = 0; i < kPlaces; ++i) {
    CHECKED_ELSE(routes.choices[0].experts[i] == 2) return shares;
    const bool none = static_cast<std::size_t>(second.slots[i]) == routes.taken.size();
    const auto e = none ? kExperts : static_cast<std::size_t>(second.experts[i]);
    shares[e] += 1.0 / kPlaces;
  }
  return shares;
}

// Four standard deviations of a share of 20,000 draws.
double bound(double p) {
  return 4 * std::sqrt(p * (1 - p) / kPlaces);
}

}  // namespace

TEST_CASE("second experts are sampled by their gates, without the first") {
  const auto shares = served(SecondExpertPolicy::sampling, 0);
  const std::array<double, kExperts + 1> want{0.25, 0.125, 0, 0.625, 0};
  for (std::size_t e = 0; e <= kExperts; ++e) {
    CHECK(std::abs(shares[e] - want[e]) <= bound(want[e]));
  }
}

TEST_CASE("second experts are used at random, by their share of the two gates") {
  // 0.25 / (0.6 + 0.25) of the two: 10 / 17 of a threshold of 0.5.
  const auto half = served(SecondExpertPolicy::random, 0.5F);
  CHECK(std::abs(half[3] - 10.0 / 17) <= bound(10.0 / 17));
  CHECK(half[kExperts] == Approx(1 - half[3]));
  CHECK(served(SecondExpertPolicy::random, 0.29F)[3] == Approx(1));
}

TEST_CASE("a draw of 0 is no expert's infinite score") {
  const std::vector<float> gates{0.5F, 0.3F, 0.2F}, uniforms{0, 0, 0};
  const Gates problem{gates, {}, 1, 3, 1};
  const Routes routes =
      top2_routes(problem, -1, SecondExpert{SecondExpertPolicy::sampling, uniforms});
  CHECK(routes.choices[1].experts[0] == 1);
}

}  // namespace nn_moe_routing_test
