// SPDX-License-Identifier: Apache-2.0
// Finding out whether training rows are still those that a run started with, and what is not.
#pragma once

#include <string>

#include "encoding.h"
#include "trivet/extensions/table.h"

namespace trivet::tabular {

// Of all rows of the table.
Fingerprint fingerprint_of(TableInput& table);

// "there are 990 rows, there were 1000; no column 'age'; other values in 'name'"; empty when they
// are equal.
std::string changes(const Fingerprint& before, const Fingerprint& now);

}  // namespace trivet::tabular
