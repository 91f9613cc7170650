// SPDX-License-Identifier: Apache-2.0
//
// The tables of the index of experiments. Numbers of units are counted within their experiment; a
// `mark` is the state of a file that a row was read from (file_stamp.h).
#pragma once

#include "base/database.h"

namespace trivet {

// Whether they are there, as this version has them.
bool has_index_tables(Database& database);

// Empty ones instead of any that are there.
void make_index_tables(Database& database);

}  // namespace trivet
