// SPDX-License-Identifier: Apache-2.0
// Formats the figures of an inspection for `check` and `summary`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/inspection.h"
#include "trivet/config/value.h"

namespace trivet {

// Doc of the option that both commands have.
inline constexpr const char* kAbstractDoc =
    "Compute nothing; open no data whose shape the task knows";

std::string format_flops(double flops);  // "1.23 MFLOP"

// "stage 2 of 3 (deep)". Empty if training has one stage.
std::string stage_title(const Inspection& inspection);

std::string model_text(const Inspection& seen);  // one line, without its end

// A line of the text: "step", "50 MFLOP for 8 examples".
struct NamedText {
  std::string name, text;
};
std::vector<NamedText> work_lines(const Inspection& seen);    // what a step computes
std::vector<NamedText> memory_lines(const Inspection& seen);  // what it holds, and on what

// Parameters of each layer, without nested layers. "" has parameters outside all layers.
std::map<std::string, std::int64_t> parameters_of_layers(const Inspection& seen);

// The full inspection as a table, for programs. For training in stages, a list "stages" with a
// table each.
void add_figures(Value& table, const std::vector<Inspection>& stages);

}  // namespace trivet
