// SPDX-License-Identifier: Apache-2.0
// The tables of the index of experiments. Unit numbers are per experiment. A `mark` is the state of
// the file that a row was read from (file_stamp.h).
#pragma once

#include "base/database.h"

namespace trivet {

// Whether the tables exist in this version.
bool has_index_tables(Database& database);

// Replaces all tables by empty ones.
void make_index_tables(Database& database);

}  // namespace trivet
