// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/missing_units.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace trivet {

MissingUnits missing_units(const UnitBuilder& builder, const SweepItems& sweep,
                           std::int64_t repeats, const std::vector<launch::WorkUnit>& recorded,
                           std::int64_t last_wid) {
  std::set<std::string> known, wanted;
  for (const launch::WorkUnit& unit : recorded) known.insert(unit.identity);
  std::vector<UnitWork> lacking;
  MissingUnits missing;
  for (std::size_t item = 0; item < sweep.items.size(); ++item) {
    for (std::int64_t repeat = 1; repeat <= repeats; ++repeat) {
      UnitWork work = builder.work(sweep.items[item], repeat);
      if (!wanted.insert(work.identity).second) {
        ++missing.duplicates;
      } else if (!known.contains(work.identity)) {
        lacking.push_back(std::move(work));
        missing.items.push_back(item + 1);
      }
    }
  }
  const std::int64_t units = last_wid + std::ssize(lacking);
  for (const UnitWork& work : lacking) {
    missing.units.push_back(builder.build(work, ++last_wid, units));
  }
  return missing;
}

}  // namespace trivet
