// SPDX-License-Identifier: Apache-2.0
#include "search/samplers/sobol.h"

#include <string>

#include "trivet/error.h"

namespace trivet::search {
namespace {

std::size_t check_dimensions(std::size_t dimensions) {
  constexpr std::size_t kMost = boost::random::default_sobol_table::max_dimension;
  if (dimensions <= kMost) return dimensions;
  throw Error("a Sobol sequence has at most " + std::to_string(kMost) + " dimensions, not " +
                  std::to_string(dimensions),
              {.hint = "use search/Random"});
}

std::optional<RngKey> shift_of(const SobolConfig& config, std::int64_t seed) {
  if (!config.scramble) return std::nullopt;
  return RngKey(static_cast<std::uint64_t>(seed)).fold("sobol");
}

}  // namespace

SobolSequence::SobolSequence(std::size_t dimensions, std::optional<RngKey> shift)
    : directions_(check_dimensions(dimensions)), flips_(dimensions, 0) {
  if (!shift) return;
  for (std::size_t i = 0; i < dimensions; ++i) flips_[i] = threefry(shift->value(), i);
}

std::vector<double> SobolSequence::point(std::uint64_t index) const {
  std::vector<std::uint64_t> bits(flips_.size(), 0);
  if (index > 0) {
    boost::random::sobol engine = directions_;
    engine.seed(index - 1);  // it counts from the point after the zeros
    for (std::uint64_t& word : bits) word = engine();
  }
  std::vector<double> unit;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    unit.push_back(static_cast<double>((bits[i] ^ flips_[i]) >> 11) * 0x1p-53);
  }
  return unit;
}

Sobol::Sobol(const Config& config, SamplerContext& context)
    : space_(context.space), sequence_(space_.size(), shift_of(config, context.seed)) {}

SearchPoint Sobol::ask(std::int64_t number, std::span<const Trial>) const {
  return space_.point(sequence_.point(static_cast<std::uint64_t>(number)));
}

}  // namespace trivet::search
