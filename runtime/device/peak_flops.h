// SPDX-License-Identifier: Apache-2.0
// The peak of a device in FLOP/s. Model FLOPs utilization (MFU) is relative to it.
#pragma once

#include <optional>
#include <string>

#include "trivet/tensor/device.h"

namespace trivet {

// How a peak was found.
enum class PeakMethod {
  bursts,   // of multiply-adds in registers
  products  // of large matrices, for a backend without bursts: below what its units can reach
};

struct Peak {
  double flops = 0;        // per second
  double measured_at = 0;  // seconds since 1970
  PeakMethod method = PeakMethod::bursts;

  // Of bursts; 0: unknown. The units of all cores do at most cores * clock * units * width FLOP/s.
  double clock = 0;  // cycles per second of a core
  int cores = 0;
  int units = 0;  // instructions that a core ends in a cycle
  int width = 0;  // FLOP of an instruction

  double bytes_per_second = 0;  // read from memory; 0: not measured

  double most() const { return cores * clock * units * width; }
  // Whether the clock allows much more than was reached: other work has disturbed the bursts.
  bool disturbed() const;
};

// Many bursts of some milliseconds on all threads of the device, of which the best counts: other
// work only makes them slower. Ends as soon as the best is steady and agrees with the clock, after
// 8 to 60 bursts. Empty if the backend has no extension "peak_flops/1".
std::optional<Peak> measure_bursts(Device& device);

// Bursts, or else f32 products of square matrices. Their size starts at 256 and doubles until five
// products take more than a quarter of a second; the fastest of these five counts.
Peak measure_peak(Device& device);

// Of reading 256 MiB of the device's memory, the best of five. 0 if the backend has no extension
// "peak_bandwidth/1".
double measure_bandwidth(Device& device);

std::string to_text(PeakMethod method);

}  // namespace trivet
