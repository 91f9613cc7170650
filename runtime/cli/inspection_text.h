// SPDX-License-Identifier: Apache-2.0
// The figures of an inspection, as `check` and `summary` show them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "train/inspection.h"
#include "trivet/value.h"

namespace trivet {

std::string format_flops(double flops);  // "1.23 MFLOP"

// One line each, without a line end.
std::string model_text(const Inspection& seen);
std::string flops_text(const Inspection& seen);
std::string memory_text(const Inspection& seen);
std::string backend_text(const Inspection& seen);

// How many numbers each layer holds itself, those inside it left out; "" has those of no layer.
std::map<std::string, std::int64_t> parameters_of_layers(const Inspection& seen);

// Everything, for programs, as members of a table: of a training in stages a list "stages" with a
// table for each.
void add_figures(Value& table, const std::vector<Inspection>& stages);

}  // namespace trivet
