// SPDX-License-Identifier: Apache-2.0
// StrayOutput: as long as it lives, what this process writes to standard output goes to standard
// error: the output of a command is read by programs, and code that was only loaded has no part in
// it. [one thread writes]
#pragma once

namespace trivet {

class StrayOutput {
 public:
  StrayOutput() noexcept;
  ~StrayOutput();
  StrayOutput(const StrayOutput&) = delete;
  StrayOutput& operator=(const StrayOutput&) = delete;

 private:
  int output_;  // -1: none, or out of descriptors
};

}  // namespace trivet
