// SPDX-License-Identifier: Apache-2.0
// The arguments of a sweep as columns of a table.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

// The name and text of each argument: a string unquoted, all others as JSON.
using SweepCells = std::vector<std::pair<std::string, std::string>>;
SweepCells sweep_cells(const Value& sweep);
// The same for a table in JSON, as stored in the index.
SweepCells sweep_cells_from_json(std::string_view json);

// Adds the names that `names` lacks.
void add_sweep_names(const SweepCells& cells, std::vector<std::string>& names);

// "-" if the name is missing.
std::string sweep_cell(const SweepCells& cells, const std::string& name);

}  // namespace trivet
