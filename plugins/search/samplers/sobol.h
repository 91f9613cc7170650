// SPDX-License-Identifier: Apache-2.0
// search/Sobol: a low-discrepancy sequence, which fills the space more evenly than random points.
// Directions are those of Joe and Kuo (2008), from Boost.Random. The first 2^k points, including
// the zero point, put one into each of 2^k equal slices of every dimension (Owen 2020 on why the
// first is kept).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/random/sobol.hpp>

#include "trivet/search/sampler.h"
#include "trivet/tensor/random.h"

namespace trivet::search {

// The sequence in the unit cube. A key adds a random digital shift: it flips bits of each
// coordinate, the same for all points, which preserves the even distribution.
class SobolSequence {
 public:
  // Throws Error for more dimensions than there are directions.
  SobolSequence(std::size_t dimensions, std::optional<RngKey> shift);
  std::vector<double> point(std::uint64_t index) const;

 private:
  boost::random::sobol directions_;
  std::vector<std::uint64_t> flips_;
};

struct SobolConfig : SamplerConfig {
  bool scramble = true;
};
TRIVET_CONFIG(SobolConfig, trivet::search::SamplerConfig,
              (scramble, "Shifts the sequence by the seed; else it is the same for all seeds."))

class Sobol final : public Sampler {
 public:
  using Config = SobolConfig;
  Sobol(const Config& config, SamplerContext& context);
  SearchPoint ask(std::int64_t number, std::span<const Trial> history) const override;
  bool takes_conditions() const override { return true; }
  bool takes_several_objectives() const override { return true; }

 private:
  SearchSpace space_;
  SobolSequence sequence_;
};

}  // namespace trivet::search
