// SPDX-License-Identifier: Apache-2.0
// ProcessWatch: notices when somebody changes what all of the process shares (ProcessState) while a
// run works. It is an error, for the run's results are no longer those of its config and seed.
#pragma once

#include <cstdint>

#include "host/process_state.h"
#include "trivet/tensor/device.h"

namespace trivet {

class ProcessWatch {
 public:
  // What is now is what must stay.
  explicit ProcessWatch(Device& device);

  // Both throw PluginError that tells the change and the plugins that may have made it. The first
  // looks at the processor alone, which takes a moment of nothing. [run-thread]
  void check_processor() const {
    if (float_mode() != start_.floats) check();
  }
  void check() const;

 private:
  Device& device_;
  ProcessState start_;
};

}  // namespace trivet
