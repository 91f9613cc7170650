// SPDX-License-Identifier: Apache-2.0
// ProcessState: implicit state that all code of a process shares and that results depend on:
// floating-point rounding, the locale, the working directory. A plugin that changes it changes the
// results of other code.
#pragma once

#include <cstdint>
#include <string>

namespace trivet {

// The floating-point rounding and traps of this thread, without denormal flushing and flags.
std::uint32_t float_mode() noexcept;

struct ProcessState {
  std::uint32_t floats = 0;
  std::string c_locale, cpp_locale, directory;
  std::int64_t library_threads = -1;  // of the backend's library; -1: unknown

  static ProcessState now(std::int64_t library_threads = -1);

  // All differences, such as "the working directory (/a -> /b)". Empty if there are none. Values
  // unknown on one side are not compared.
  std::string changes_to(const ProcessState& later) const;
};

}  // namespace trivet
