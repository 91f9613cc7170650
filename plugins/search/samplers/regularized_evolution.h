// SPDX-License-Identifier: Apache-2.0
// search/RegularizedEvolution: evolution by age (Real et al., AAAI 2019). The oldest trials die,
// not the worst, so that a lucky one does not stay.
//
//   start       `population` random points
//   population  the `population` trials with results that ended last
//   parent      the best of `tournament` of them, drawn without repetition; of equals the youngest
//   mutation    one of the parent's keys has another value, drawn as for a random point. A key that
//               its conditions bring is drawn, too
//   failed      trials are ignored
//
// A child that was tried already is drawn again, at most 20 times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/math/random_stream.h"
#include "trivet/search/sampler.h"

namespace trivet::search {

struct RegularizedEvolutionConfig : SamplerConfig {
  std::int64_t population = 100;
  std::int64_t tournament = 10;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(RegularizedEvolutionConfig, trivet::search::SamplerConfig,
              (population,
               "Number of youngest trials that may be parents, and of random points at the start.",
               at_least(2)),
              (tournament, "Number of them that are drawn; the best is the parent.", at_least(2)))

class RegularizedEvolution final : public Sampler {
 public:
  using Config = RegularizedEvolutionConfig;
  RegularizedEvolution(const Config& config, SamplerContext& context);
  SearchPoint ask(std::int64_t number, std::span<const Trial> history) const override;
  bool takes_conditions() const override { return true; }

 private:
  struct Member {
    const Trial* trial = nullptr;
    double loss = 0;
  };

  // The youngest last; fewer than `population` at the start.
  std::vector<Member> population(std::span<const Trial> history) const;
  const SearchPoint& parent(std::vector<Member> population, RandomStream& draws) const;
  SearchPoint child(const SearchPoint& parent, RandomStream& draws) const;

  Config config_;
  SearchSpace space_;
  Goal goal_;
  std::int64_t seed_;
};

}  // namespace trivet::search
