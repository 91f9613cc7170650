// SPDX-License-Identifier: Apache-2.0
// Parses the values of one dimension of a sweep from a config:
//
//   [1e-3, 1e-4]                  these
//   { range = [0, 10, 3] }        0, 3, 6, 9: the end is not one of them; the step may be left out: 1
//   { linspace = [0, 1, 5] }      5 values from 0 to 1, both included
//   { logspace = [1e-4, 1e-1, 4] } 1e-4, 1e-3, 1e-2, 1e-1
#pragma once

#include <string>

#include "trivet/config/value.h"

namespace trivet::sweeps {

// Numbers are rounded to what people would write: 0.3, not 0.30000000000000004. Throws ConfigError
// with the location for anything else, and for more than a million values. `name` is the dimension.
Value::Array values_of(const Value& dimension, const std::string& name);

}  // namespace trivet::sweeps
