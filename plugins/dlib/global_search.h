// SPDX-License-Identifier: Apache-2.0
// dlib/GlobalSearch: dlib::global_function_search. It alternates between the point where a
// Lipschitz bound on the objective is greatest (Malherbe and Vayatis 2017) and the maximum of a
// quadratic through the points around the best one (Powell 2004).
//
//   start      the middle of the space, then random points until there are max(3, n) results
//   turns      even-numbered trials are steps of the quadratic, odd-numbered ones of the bound
//   numbers    of all types are coordinates in [0, 1], so that both models use the space's scales
//              and the quadratic moves integers; choices are dlib's integers, which the quadratic
//              keeps at the best point's values
//   again      a point that was tried before is replaced by one of the bound, then by random ones
//   failed     trials count as the worst, so that the quadratic avoids them
//   running    trials have the value of the nearest ended one, as in dlib itself
//
// dlib keeps a trust region radius from step to step. A sampler has no state, so the radius is
// always dlib's initial one: the distance of the points that the quadratic goes through.
//
// The time per trial grows faster than the square of the number of trials: some ten milliseconds
// for 30, a second for some hundred.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trivet/search/sampler.h"

namespace trivet::dlib {

// The field names are dlib's.
struct GlobalSearchConfig : search::SamplerConfig {
  double solver_epsilon = 0;
  double pure_random_search_probability = 0.02;
  std::int64_t monte_carlo_upper_bound_samples = 5000;
  double relative_noise_magnitude = 0.001;
};
TRIVET_CONFIG(GlobalSearchConfig, trivet::search::SamplerConfig,
              (solver_epsilon,
               "Minimum improvement that the quadratic model must predict to be used.",
               at_least(0)),
              (pure_random_search_probability,
               "Probability of a random point instead of one that the upper bound chooses.",
               at_least(0), at_most(1)),
              (monte_carlo_upper_bound_samples,
               "Number of random points at which the upper bound is computed.", at_least(1)),
              (relative_noise_magnitude, "Noise of the objective, relative to its spread.",
               at_least(0)))

class GlobalSearch final : public search::Sampler {
 public:
  using Config = GlobalSearchConfig;
  GlobalSearch(const Config& config, search::SamplerContext& context);
  search::SearchPoint ask(std::int64_t number,
                          std::span<const search::Trial> history) const override;

 private:
  Config config_;
  search::SearchSpace space_;
  Goal goal_;
  std::int64_t seed_;
};

}  // namespace trivet::dlib
