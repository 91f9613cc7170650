// SPDX-License-Identifier: Apache-2.0
//
// Errors as text for people. Only cli_main prints them.
#pragma once

#include <exception>
#include <string>

#include "trivet/error.h"

namespace trivet {

// One block for each problem, at most kMostProblems of them, with the line it is about and a caret
// below the location. Lines are read again from their files.
inline constexpr std::size_t kMostProblems = 50;
std::string report_text(const ConfigError& error, bool colors);
std::string report_text(const std::exception& error, bool colors);

// The process's exit code: that of an Error, 1 for anything else.
int exit_code_of(const std::exception& error) noexcept;

}  // namespace trivet
