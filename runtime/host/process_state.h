// SPDX-License-Identifier: Apache-2.0
// ProcessState: what all code of a process shares without a word, and what results depend on: how
// the processor rounds, the locale, the working directory. A plugin that changes one of them
// changes what others compute, read or write.
#pragma once

#include <cstdint>
#include <string>

namespace trivet {

// How this thread's processor rounds and traps; flushing of denormals and flags left out.
std::uint32_t float_mode() noexcept;

struct ProcessState {
  std::uint32_t floats = 0;
  std::string c_locale, cpp_locale, directory;
  std::int64_t library_threads = -1;  // of what a backend calls; -1: not known

  static ProcessState now(std::int64_t library_threads = -1);

  // "the working directory (/a -> /b)", all that differ; empty when nothing does. What one side
  // does not know is no difference.
  std::string changes_to(const ProcessState& later) const;
};

}  // namespace trivet
