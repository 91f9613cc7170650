// SPDX-License-Identifier: Apache-2.0
// The processor of this machine, as the kernel describes it.
#pragma once

#include <string>

namespace trivet {

struct Processor {
  std::string model;      // e.g. "AMD EPYC, family 26, model 2, stepping 1"; empty: unknown
  std::string microcode;  // its version; empty: unknown
};

// From /proc/cpuinfo, of its first core.
Processor this_processor();

}  // namespace trivet
