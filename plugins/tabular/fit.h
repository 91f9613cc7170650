// SPDX-License-Identifier: Apache-2.0
// Learns an encoding from the training rows: numeric columns, their means and standard deviations
// (of the population, as scikit-learn's StandardScaler), fill values, vocabularies, classes.
#pragma once

#include "config.h"
#include "encoding.h"
#include "trivet/extensions/table.h"

namespace trivet::tabular {

enum class Target { number, classes };

// Throws InputError, with row and column if possible, if a column is missing, empty, or neither
// clearly numeric nor clearly categorical, or if a label is missing or does not suit `target`.
Encoding fit(const TabularConfig& config, Target target, TableInput& table);

}  // namespace trivet::tabular
