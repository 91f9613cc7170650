// SPDX-License-Identifier: Apache-2.0
// search/GaussianProcess: Bayesian optimization. A Gaussian process (Matern 5/2, a length scale for
// each dimension) is fitted to the losses by maximum likelihood; the point with the greatest
// expected improvement is tried next (Jones et al. 1998, Snoek et al. 2012).
//
//   start      n_startup points of a scrambled Sobol sequence
//   losses     are capped at median + 5 * (median - best), then normalized to mean 0 and variance
//              1; failed trials count as the worst
//   running    trials are observations with a lie for a loss (the constant liar of Ginsbourger et
//              al. 2010), so that parallel trials spread
//   integers   and choices enter the covariance as the value that a point is rounded to
//              (Garrido-Merchan and Hernandez-Lobato 2020)
//   conditions a key that a point does not have has the middle of its range
//
// The time per trial grows with the cube of the number of trials: some milliseconds for 30, a
// second for some hundred. Use search/Tpe or search/CmaEs for more trials.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/math/encoding.h"
#include "search/math/gp_model.h"
#include "search/samplers/sobol.h"
#include "trivet/search/sampler.h"

namespace trivet::search {

enum class Lie { best, mean, worst };
TRIVET_ENUM(Lie, best, mean, worst)

struct GaussianProcessConfig : SamplerConfig {
  std::int64_t n_startup = 10;
  std::int64_t n_candidates = 512;
  std::int64_t n_restarts = 5;
  Lie lie = Lie::mean;
};
TRIVET_CONFIG(
    GaussianProcessConfig, trivet::search::SamplerConfig,
    (n_startup,
     "Number of trials with a result before the Gaussian process is used. Sobol points come first.",
     at_least(2)),
    (n_candidates, "Number of candidates whose expected improvement is computed.", at_least(1)),
    (n_restarts, "Number of best candidates from which a local search starts.", at_least(1)),
    (lie, "Value assumed for running trials: the best, mean or worst value so far."))

// Losses in the order of the history, without running trials; see the top of the file. At least one
// must be finite.
Eigen::VectorXd standardized(const std::vector<std::optional<double>>& losses);

class GaussianProcess final : public Sampler {
 public:
  using Config = GaussianProcessConfig;
  GaussianProcess(const Config& config, SamplerContext& context);
  SearchPoint ask(std::int64_t number, std::span<const Trial> history) const override;
  bool takes_conditions() const override { return true; }

 private:
  GpData ended_in(std::span<const Trial> history) const;
  void add_running(std::span<const Trial> history, GpData& data) const;

  Config config_;
  SearchSpace space_;
  Goal goal_;
  std::int64_t seed_;
  Encoding encoding_;
  SobolSequence startup_;
};

}  // namespace trivet::search
