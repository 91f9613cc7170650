// SPDX-License-Identifier: Apache-2.0
// Learning an encoding from the training rows: which columns are numbers, their means and standard
// deviations (of the population, as scikit-learn's StandardScaler), what fills gaps, vocabularies,
// classes.
#pragma once

#include "config.h"
#include "encoding.h"
#include "trivet/extensions/table.h"

namespace trivet::tabular {

enum class Target { number, classes };

// Throws InputError, naming row and column where there is one, for columns that are not there, are
// empty, or are neither clearly numbers nor clearly not; and for labels that are missing or are not
// what `target` needs.
Encoding fit(const TabularConfig& config, Target target, TableInput& table);

}  // namespace trivet::tabular
