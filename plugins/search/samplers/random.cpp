// SPDX-License-Identifier: Apache-2.0
#include "search/samplers/random.h"

namespace trivet::search {

std::vector<double> random_unit(std::size_t dimensions, RandomStream& draws) {
  std::vector<double> unit(dimensions);
  for (double& coordinate : unit) coordinate = draws.uniform();
  return unit;
}

Random::Random(const Config&, SamplerContext& context)
    : space_(context.space), seed_(context.seed) {}

SearchPoint Random::ask(std::int64_t number, std::span<const Trial>) const {
  RandomStream draws(trial_key(seed_, number));
  return space_.point(random_unit(space_.size(), draws));
}

}  // namespace trivet::search
