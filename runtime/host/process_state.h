// SPDX-License-Identifier: Apache-2.0
// ProcessState: what all code of a process shares without a word, and what results depend on: how
// the processor rounds, the locale, the working directory. A plugin that changes one of them
// changes what others compute, read or write.
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
