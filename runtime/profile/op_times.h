// SPDX-License-Identifier: Apache-2.0
// How long an operation takes on some devices: the time of its kernels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profile/op_case.h"

namespace trivet {

// One pass of an op: the sums over its kernels.
struct PassTime {
  double seconds = 0;                // of the fastest run
  double flops = 0, bytes = 0;       // as Profile::Kernel counts them
  std::vector<std::string> kernels;  // in order; one for an op that is not composed

  double flops_per_second() const { return seconds > 0 ? flops / seconds : 0; }
  double bytes_per_second() const { return seconds > 0 ? bytes / seconds : 0; }
};

struct OpTime {
  PassTime forward;
  std::optional<PassTime> backward;  // none: the op has no gradient
};

// A time for each device. They take turns, so that other work of the machine slows none of them
// alone. [run-thread]
std::vector<OpTime> time_op(const OpCase& op, std::span<Device* const> devices);

}  // namespace trivet
