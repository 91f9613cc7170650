// SPDX-License-Identifier: Apache-2.0
// search/Tpe: the tree-structured Parzen estimator of Bergstra et al. (NeurIPS 2011, ICML 2013).
// The trials are split by their loss: l(x) is the density of the best, g(x) that of the others. Of
// some points drawn from l, the one with the greatest l(x) / g(x) is tried next; it has the
// greatest expected improvement.
//
//   order     complete trials by loss, then stopped ones (the longest first), then failed ones
//   split     the first min(ceil(gamma n), max_below) of n complete and stopped trials are the best
//   g         has the other trials and the running ones, whose neighborhood it thus avoids
//   weights   1 for the newest 25 observations of a density, then falling to 1 / n linearly
//
// With `multivariate` l and g are joint densities, which model interactions (Falkner et al. 2018);
// without it every dimension has its own densities, as in the papers.
//
// Keys with conditions are a tree, as in the paper: the keys of each set of conditions have
// densities of their own, of the trials that have them.
//
// Default numbers are those of Optuna (Akiba et al., KDD 2019). There `multivariate` is off by
// default; Watanabe (arXiv 2304.11127) recommends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/math/parzen_estimator.h"
#include "trivet/search/sampler.h"

namespace trivet::search {

struct TpeConfig : SamplerConfig {
  std::int64_t n_startup = 10;
  double gamma = 0.1;
  std::int64_t max_below = 25;
  std::int64_t n_ei_candidates = 24;
  double prior_weight = 1;
  bool multivariate = true;
};
TRIVET_CONFIG(
    TpeConfig, trivet::search::SamplerConfig,
    (n_startup,
     "Number of trials with a result before densities are used. Random points come first.",
     at_least(1)),
    (gamma, "Share of the trials that count as the best.", more_than(0), less_than(1)),
    (max_below, "Maximum number of trials that count as the best.", at_least(1)),
    (n_ei_candidates, "Points drawn from the density of the best, of which one is tried.",
     at_least(1)),
    (prior_weight, "Weight of the flat prior; an observation has at most 1.", more_than(0)),
    (multivariate, "Joint densities; false: one for each dimension by itself."))

// The number of n trials that count as the best.
std::size_t tpe_below(std::size_t n, const TpeConfig& config);
// Weights of n observations, the oldest first.
std::vector<double> tpe_weights(std::size_t n);

// Indices into the history, each list in its order.
struct TpeSplit {
  std::vector<std::size_t> below, above;
};
TpeSplit tpe_split(std::span<const Trial> history, Goal goal, const TpeConfig& config);

class Tpe final : public Sampler {
 public:
  using Config = TpeConfig;
  Tpe(const Config& config, SamplerContext& context);
  SearchPoint ask(std::int64_t number, std::span<const Trial> history) const override;
  bool takes_conditions() const override { return true; }

 private:
  // The trials that have a dimension.
  std::vector<Trial> trials_with(std::size_t dimension, std::span<const Trial> history) const;
  // Sets the coordinates of dimensions that are in each of the trials.
  void choose(const std::vector<std::size_t>& group, std::span<const Trial> history,
              RandomStream& draws, std::vector<double>& unit) const;
  ParzenEstimator estimator(const std::vector<std::size_t>& dimensions,
                            const std::vector<std::size_t>& trials,
                            const std::vector<std::vector<double>>& units) const;
  // Returns coordinates for these dimensions.
  std::vector<double> best_of(const ParzenEstimator& below, const ParzenEstimator& above,
                              RandomStream& draws) const;

  Config config_;
  SearchSpace space_;
  Goal goal_;
  std::int64_t seed_;
};

}  // namespace trivet::search
