// SPDX-License-Identifier: Apache-2.0
// search/Random: draws every point from the whole space and ignores all results. The baseline for
// other samplers (Bergstra and Bengio 2012).
#pragma once

#include <vector>

#include "search/math/random_stream.h"
#include "trivet/search/sampler.h"

namespace trivet::search {

struct RandomConfig : SamplerConfig {};
TRIVET_CONFIG(RandomConfig, trivet::search::SamplerConfig)

// A point of the unit cube.
std::vector<double> random_unit(std::size_t dimensions, RandomStream& draws);

class Random final : public Sampler {
 public:
  using Config = RandomConfig;
  Random(const Config& config, SamplerContext& context);
  SearchPoint ask(std::int64_t number, std::span<const Trial> history) const override;
  bool takes_conditions() const override { return true; }
  bool takes_several_objectives() const override { return true; }

 private:
  SearchSpace space_;
  std::int64_t seed_;
};

}  // namespace trivet::search
