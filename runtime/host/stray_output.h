// SPDX-License-Identifier: Apache-2.0
// StrayOutput: while this object exists, standard output goes to standard error. Programs read the
// output of a command, so output of loaded code must not be mixed into it. [one thread writes]
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
