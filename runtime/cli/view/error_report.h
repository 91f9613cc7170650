// SPDX-License-Identifier: Apache-2.0
// Formats errors as text. Only cli_main prints them.
#pragma once

#include <exception>
#include <string>

#include "trivet/error.h"

namespace trivet {

// Returns one block for each problem, at most kMostProblems of them, with the line and a caret
// below the location. Reads the lines again from their files.
inline constexpr std::size_t kMostProblems = 50;
std::string report_text(const ConfigError& error, bool colors);
std::string report_text(const std::exception& error, bool colors);

// The exit code of the process: that of an Error, 1 for any other exception.
int exit_code_of(const std::exception& error) noexcept;

}  // namespace trivet
