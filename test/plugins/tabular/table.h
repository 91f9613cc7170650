// SPDX-License-Identifier: Apache-2.0
// Tables and configs for the tests of the tabular plugin.
#pragma once

#include <memory>
#include <string>

#include "plugins/data/csv_files.h"
#include "tabular/fit.h"

namespace trivet::test {

// A bit of everything: numbers with a gap, categories with a gap, a numeric code, an id.
inline const std::string kPeople =
    "id,age,city,code,income\n"
    "a,20,Bonn,1,10\n"
    "b,,Ulm,2,20\n"
    "c,40,Bonn,1,30\n"
    "d,30,,2,60\n";

inline tabular::TabularConfig predicting(const std::string& label) {
  tabular::TabularConfig config;
  config.label = label;
  config.ignore = {"id"};
  return config;
}

inline tabular::Encoding fitted(const CsvFile& file, const tabular::TabularConfig& config,
                                tabular::Target target = tabular::Target::number) {
  auto input = file.input();
  return tabular::fit(config, target, input);
}

}  // namespace trivet::test
