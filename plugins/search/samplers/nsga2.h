// SPDX-License-Identifier: Apache-2.0
// search/Nsga2: the genetic algorithm NSGA-II (Deb et al. 2002) for several objectives, or one, on
// the unit cube. It has a steady state: each trial is a child of the best trials so far, so that
// none waits for the end of a generation.
//
//   start      `population` random points
//   parents    the best `population` of all trials with results: by fronts (trivet/search/pareto.h),
//              then by crowding distance. Each parent is the better of two of them, drawn randomly
//   crossover  simulated binary (Deb and Agrawal 1995), each coordinate with a probability of 1/2;
//              a choice is that of either parent
//   mutation   polynomial (Deb and Goyal 1996), each coordinate with a probability of 1 / n; a
//              choice or a key that the parent did not have is drawn again
//   failed     trials are ignored
//
// The time per trial grows with the square of the number of trials: a millisecond for some hundred.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/math/random_stream.h"
#include "trivet/search/sampler.h"

namespace trivet::search {

struct Nsga2Config : SamplerConfig {
  std::int64_t population = 20;
  double crossover_probability = 0.9;
  double crossover_eta = 15;
  double mutation_eta = 20;
};
TRIVET_CONFIG(
    Nsga2Config, trivet::search::SamplerConfig,
    (population,
     "Number of best trials from which parents are drawn, and of random points at the start.",
     at_least(2)),
    (crossover_probability, "Probability that a child has two parents; else it is a copy of one.",
     at_least(0), at_most(1)),
    (crossover_eta, "Distribution index of the crossover; children of a higher one are nearer.",
     at_least(0)),
    (mutation_eta, "Distribution index of the mutation; changes of a higher one are smaller.",
     at_least(0)))

class Nsga2 final : public Sampler {
 public:
  using Config = Nsga2Config;
  Nsga2(const Config& config, SamplerContext& context);
  SearchPoint ask(std::int64_t number, std::span<const Trial> history) const override;
  bool takes_several_objectives() const override { return true; }
  bool takes_conditions() const override { return true; }

 private:
  // Coordinates of the best trials, the best first.
  std::vector<std::vector<double>> parents(std::span<const Trial> history) const;
  // The coordinates of one parent, random where it has none.
  std::vector<double> pick(const std::vector<std::vector<double>>& parents,
                           RandomStream& draws) const;
  std::vector<double> child(const std::vector<std::vector<double>>& parents,
                            RandomStream& draws) const;

  Config config_;
  SearchSpace space_;
  std::vector<Goal> goals_;
  std::int64_t seed_;
};

}  // namespace trivet::search
