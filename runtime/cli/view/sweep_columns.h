// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a sweep as columns of a table.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

// Name and text of each argument: a text as it is, everything else as JSON.
using SweepCells = std::vector<std::pair<std::string, std::string>>;
SweepCells sweep_cells(const Value& sweep);
// Of a table in JSON as the index has it.
SweepCells sweep_cells_from_json(std::string_view json);

// Adds the names that are not in `names` yet.
void add_sweep_names(const SweepCells& cells, std::vector<std::string>& names);

// "-" for a name that is not there.
std::string sweep_cell(const SweepCells& cells, const std::string& name);

}  // namespace trivet
