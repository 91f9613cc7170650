// SPDX-License-Identifier: Apache-2.0
// StrayOutput: as long as it lives, what this process writes to standard output goes to standard
// error: the output of a command is read by programs, and code that was only loaded has no part in
// it. [one thread writes]
#pragma once

#include "trivet/os/file.h"

namespace trivet {

class StrayOutput {
 public:
  StrayOutput() noexcept;
  ~StrayOutput();
  StrayOutput(const StrayOutput&) = delete;
  StrayOutput& operator=(const StrayOutput&) = delete;

 private:
  UniqueFd output_;  // none: there is no output, or no descriptor for it
};

}  // namespace trivet
