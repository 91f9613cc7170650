// SPDX-License-Identifier: Apache-2.0
// Checks whether the training rows are those that a run started with, and describes differences.
#pragma once

#include <string>

#include "encoding.h"
#include "trivet/extensions/table.h"

namespace trivet::tabular {

// The fingerprint of all rows of the table.
Fingerprint fingerprint_of(TableInput& table);

// Returns a text such as "now 990 rows, before 1000; column 'age' is missing; other values in
// 'name'". Empty if they are equal.
std::string changes(const Fingerprint& before, const Fingerprint& now);

}  // namespace trivet::tabular
