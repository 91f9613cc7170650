// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/missing_units.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

namespace trivet {

MissingUnits missing_units(const UnitBuilder& builder, const SweepItems& sweep,
                           std::int64_t repeats, const std::vector<launch::WorkUnit>& recorded) {
  std::set<std::string> known, wanted;
  std::int64_t last = 0;
  for (const launch::WorkUnit& unit : recorded) {
    known.insert(unit.identity);
    last = std::max(last, unit.wid);
  }
  struct Wanted {
    std::size_t item;
    std::int64_t repeat;
  };
  std::vector<Wanted> lacking;
  MissingUnits missing;
  for (std::size_t item = 0; item < sweep.items.size(); ++item) {
    for (std::int64_t repeat = 1; repeat <= repeats; ++repeat) {
      const std::string identity = builder.identity(sweep.items[item], sweep.sweeps_config, repeat);
      if (!wanted.insert(identity).second) {
        ++missing.duplicates;
      } else if (!known.contains(identity)) {
        lacking.push_back({item, repeat});
      }
    }
  }
  const std::int64_t units = last + std::ssize(lacking);
  for (const auto& [item, repeat] : lacking) {
    missing.units.push_back(
        builder.build(sweep.items[item], sweep.sweeps_config, ++last, units, repeat));
    missing.items.push_back(item + 1);
  }
  return missing;
}

}  // namespace trivet
