// SPDX-License-Identifier: Apache-2.0
// ProcessWatch: detects changes of process-wide state (ProcessState) during a run. A change is an
// error, because the run's results then no longer depend only on config and seed.
#pragma once

#include <cstdint>

#include "host/process_state.h"
#include "trivet/tensor/device.h"

namespace trivet {

class ProcessWatch {
 public:
  // Records the current state, which must not change.
  explicit ProcessWatch(Device& device);

  // Both throw PluginError with the change and the plugins that may have made it. The first only
  // checks the floating-point state, which costs almost nothing. [run-thread]
  void check_processor() const {
    if (float_mode() != start_.floats) check();
  }
  void check() const;

 private:
  Device& device_;
  ProcessState start_;
};

}  // namespace trivet
