// SPDX-License-Identifier: Apache-2.0
// The figures of an inspection, as `check` and `summary` show them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/inspection.h"
#include "trivet/config/value.h"

namespace trivet {

// Of the option both commands have.
inline constexpr const char* kAbstractDoc =
    "Compute nothing and open no data that the task knows the shape of";

std::string format_flops(double flops);  // "1.23 MFLOP"

std::string model_text(const Inspection& seen);  // one line, without its end

// A line of the text: "step", "50 MFLOP for 8 examples".
struct NamedText {
  std::string name, text;
};
std::vector<NamedText> work_lines(const Inspection& seen);    // what a step computes
std::vector<NamedText> memory_lines(const Inspection& seen);  // what it holds, and on what

// How many numbers each layer holds itself, those inside it left out; "" has those of no layer.
std::map<std::string, std::int64_t> parameters_of_layers(const Inspection& seen);

// Everything, for programs, as members of a table: of a training in stages a list "stages" with a
// table for each.
void add_figures(Value& table, const std::vector<Inspection>& stages);

}  // namespace trivet
