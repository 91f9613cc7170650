// SPDX-License-Identifier: Apache-2.0
// search/CmaEs: the covariance matrix adaptation evolution strategy (Hansen, arXiv 1604.00772) on
// the unit cube, for some hundred trials and more.
//
//   generations  every lambda trials with a result, in the order of their ends, make the next one.
//                With parallel trials some were drawn from the previous generation; they count
//                equally, like injected points (Hansen 2011).
//   box          a point outside the box is drawn again, up to 100 times, then moved to the border
//   integers     have the middle of their cell as coordinate. Choices have one feature each; the
//                largest wins (two choices share one). The standard deviation of such a feature
//                stays wide enough to draw another value with a probability of about
//                1 / (n lambda), as in the method with margin (Hamano et al. 2022).
//   failed       trials are ignored: a generation waits for lambda results
#pragma once

#include <cstdint>
#include <span>

#include "search/math/cma_state.h"
#include "search/math/encoding.h"
#include "trivet/search/sampler.h"

namespace trivet::search {

struct CmaEsConfig : SamplerConfig {
  std::int64_t population = 0;
  double sigma0 = 0.3;
};
TRIVET_CONFIG(CmaEsConfig, trivet::search::SamplerConfig,
              (population, "Trials in a generation (lambda); 0: 4 + floor(3 ln n).", at_least(0)),
              (sigma0, "Standard deviation at the start, in parts of each range.", more_than(0),
               at_most(1)))

class CmaEs final : public Sampler {
 public:
  using Config = CmaEsConfig;
  CmaEs(const Config& config, SamplerContext& context);
  SearchPoint ask(std::int64_t number, std::span<const Trial> history) const override;

 private:
  CmaState state_after(std::span<const Trial> history) const;
  void keep_margin(CmaState& state) const;

  SearchSpace space_;
  Goal goal_;
  std::int64_t seed_;
  double sigma0_;
  Encoding encoding_;
  CmaParameters parameters_;
  double margin_;  // minimum standard deviation in cells, for features with cells
};

}  // namespace trivet::search
