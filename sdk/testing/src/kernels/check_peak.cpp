// SPDX-License-Identifier: Apache-2.0
// Conformance of the bursts that measure a device. Their speed may be any.

#include <cmath>
#include <vector>

#include <trivet/backend/kernels/peak.h>

#include "conformance.h"

namespace trivet::testing {
namespace {

bool is_speed(double per_second) {
  return std::isfinite(per_second) && per_second > 0;
}

std::string problem_of(tv_status status, const tv_peak_flops& burst) {
  if (status != TV_OK) return "status " + std::to_string(status);
  if (!is_speed(burst.flops)) return "flops is no positive number";
  if (burst.clock != 0 && !is_speed(burst.clock)) return "clock is neither 0 nor positive";
  if (burst.cores < 1) return "no core";
  if (burst.core_flops != 0 && !is_speed(burst.core_flops)) {
    return "core_flops is neither 0 nor positive";
  }
  return burst.width < 2 ? "an instruction has less than 2 FLOP" : "";
}

void check_flops(Kit& kit, tv_peak_flops_fn measure) {
  tv_peak_flops burst = {};
  burst.struct_size = sizeof burst;
  burst.dtype = TV_F32;
  const tv_status status = measure(kit.first().context(), &burst);
  kit.record(TV_PEAK_FLOPS, "a burst of f32", problem_of(status, burst));
  burst.dtype = TV_BOOL;
  const tv_status refused = measure(kit.first().context(), &burst);
  kit.record(TV_PEAK_FLOPS, "a burst of bool",
             refused == TV_UNSUPPORTED ? "" : "is not TV_UNSUPPORTED");
}

void check_bandwidth(Kit& kit, tv_peak_bandwidth_fn measure) {
  constexpr std::uint64_t kBytes = 1 << 22;
  const tv_backend& table = kit.table();
  tv_ctx* context = kit.first().context();
  void* memory = nullptr;
  if (table.alloc(context, kBytes, &memory) != TV_OK) return;
  tv_peak_bandwidth pass = {};
  pass.struct_size = sizeof pass;
  pass.data = memory, pass.bytes = kBytes;
  const tv_status status = measure(context, &pass);
  kit.record(TV_PEAK_BANDWIDTH, "4 MiB",
             status != TV_OK                   ? "status " + std::to_string(status)
             : is_speed(pass.bytes_per_second) ? ""
                                               : "bytes_per_second is no positive number");
  table.free(context, memory);
}

}  // namespace

void check_peak(Kit& kit) {
  const auto flops =
      reinterpret_cast<tv_peak_flops_fn>(const_cast<void*>(kit.extension(TV_PEAK_FLOPS)));
  if (flops != nullptr) check_flops(kit, flops);
  const auto bandwidth =
      reinterpret_cast<tv_peak_bandwidth_fn>(const_cast<void*>(kit.extension(TV_PEAK_BANDWIDTH)));
  if (bandwidth != nullptr) check_bandwidth(kit, bandwidth);
}

}  // namespace trivet::testing
