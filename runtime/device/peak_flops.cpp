// SPDX-License-Identifier: Apache-2.0
#include "device/peak_flops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/process_info.h"
#include "trivet/backend/kernels/peak.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/os/process.h"
#include "trivet/tape.h"

namespace trivet {
namespace {

constexpr int kLeastBursts = 8, kMostBursts = 60;
constexpr double kSteady = 0.005;   // by which the two best bursts may differ
constexpr double kGood = 0.96;      // share of what the units can do, with which the bursts end
constexpr double kDisturbed = 0.9;  // a peak below this share was measured beside other work

constexpr std::int64_t kSmallest = 256, kLargest = 8192;
constexpr int kTimes = 5;
constexpr double kLongEnough = 0.25;  // seconds

constexpr std::int64_t kMemory = 256 << 20;  // bytes

// Null if the backend has no such function.
template <typename Function>
Function extension_of(Device& device, const char* name) {
  const tv_backend& table = device.table();
  if (table.struct_size <= offsetof(tv_backend, extension) || table.extension == nullptr) {
    return nullptr;
  }
  const void* const function =
      device.in_backend("extension", [&] { return table.extension(device.context(), name); });
  return reinterpret_cast<Function>(reinterpret_cast<std::uintptr_t>(function));
}

// False if the backend does not measure this.
template <typename Function, typename Arguments>
bool measure(Device& device, const char* name, Function function, Arguments& arguments) {
  arguments.struct_size = sizeof arguments;
  const tv_status status =
      device.in_backend(name, [&] { return function(device.context(), &arguments); });
  if (status == TV_UNSUPPORTED) return false;
  device.check(status, name);
  return true;
}

// Instructions that a core ends in a cycle, from its best speed and the best clock.
int units_of(double core_flops, const Peak& best) {
  const double of_unit = best.clock * best.width;
  return of_unit > 0 ? static_cast<int>(std::lround(core_flops / of_unit)) : 0;
}

// The shortest of several products [n, n] x [n, n].
double seconds_of_product(Device& device, std::int64_t n) {
  const Tensor a = Tensor::full(device, {n, n}, 1), b = Tensor::full(device, {n, n}, 0.5);
  double shortest = 0;
  for (int i = 0; i <= kTimes; ++i) {
    device.sync();
    const double start = steady_seconds();
    const Tensor c = ops::matmul(a, b);
    device.sync();
    const double seconds = steady_seconds() - start;
    if (i == 1 || (i > 1 && seconds < shortest)) shortest = seconds;  // the first one warms up
  }
  return shortest;
}

double measure_products(Device& device) {
  const FlushDenormals flush;
  const NoGrad no_grad;
  double best = 0;
  for (std::int64_t n = kSmallest; n <= kLargest; n *= 2) {
    const double seconds = seconds_of_product(device, n);
    const double side = static_cast<double>(n);
    if (seconds > 0) best = std::max(best, 2 * side * side * side / seconds);
    if (seconds * kTimes > kLongEnough) break;
  }
  return best;
}

}  // namespace

bool Peak::disturbed() const {
  return flops < kDisturbed * most();
}

std::optional<Peak> measure_bursts(Device& device) {
  const auto burst_of = extension_of<tv_peak_flops_fn>(device, TV_PEAK_FLOPS);
  if (burst_of == nullptr) return {};
  Peak best;
  double second = 0, core_flops = 0;
  for (int i = 0; i < kMostBursts; ++i) {
    tv_peak_flops burst = {};
    burst.dtype = TV_F32;
    if (!measure(device, TV_PEAK_FLOPS, burst_of, burst)) return {};
    best.clock = std::max(best.clock, burst.clock);
    if (burst.flops > best.flops) {
      second = best.flops;
      best.flops = burst.flops;
      best.cores = burst.cores, best.width = burst.width;
    } else {
      second = std::max(second, burst.flops);
    }
    core_flops = std::max(core_flops, burst.core_flops);
    best.units = units_of(core_flops, best);
    const bool steady = second > (1 - kSteady) * best.flops && best.flops >= kGood * best.most();
    if (steady && i + 1 >= kLeastBursts) break;
  }
  best.measured_at = unix_time();
  return best;
}

Peak measure_peak(Device& device) {
  if (std::optional<Peak> bursts = measure_bursts(device)) return *bursts;
  return {.flops = measure_products(device),
          .measured_at = unix_time(),
          .method = PeakMethod::products};
}

double measure_bandwidth(Device& device) {
  const auto read = extension_of<tv_peak_bandwidth_fn>(device, TV_PEAK_BANDWIDTH);
  if (read == nullptr) return 0;
  const Tensor memory = Tensor::full(device, {kMemory / 4}, 1);
  double best = 0;
  for (int i = 0; i < kTimes; ++i) {
    tv_peak_bandwidth pass = {};
    pass.data = memory.view().data;
    pass.bytes = kMemory;
    if (!measure(device, TV_PEAK_BANDWIDTH, read, pass)) return 0;
    best = std::max(best, pass.bytes_per_second);
  }
  return best;
}

std::string to_text(PeakMethod method) {
  return method == PeakMethod::bursts ? "bursts" : "products";
}

}  // namespace trivet
