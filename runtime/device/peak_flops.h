// SPDX-License-Identifier: Apache-2.0
// The peak of a device in FLOP/s, the speed of the fastest measured matrix product. Model FLOPs
// utilization (MFU) is relative to it. Measurements of this machine are stored in
// ~/.cache/trivet/peaks.json, one per backend, number of threads and device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "trivet/experiment.h"
#include "trivet/tensor/device.h"

namespace trivet {

// Measures f32 products of square matrices. The size starts at 256 and doubles until five products
// take more than a quarter of a second; the fastest of these five counts. Takes about two seconds.
double measure_peak(Device& device);

// XDG_CACHE_HOME/trivet/peaks.json. Empty if the user's folder is unknown.
std::filesystem::path peaks_file();

struct KnownPeak {
  double flops = 0;
  double measured_at = 0;  // seconds since 1970
};

// The peak that was measured on this machine with this backend, description and number of threads,
// if any. `index` is runtime.device. Throws InputError if the file is damaged.
std::optional<KnownPeak> find_peak(const std::filesystem::path& file, const Device& device,
                                   std::int64_t index);
// Replaces an older peak. Throws RunError if the file cannot be written.
void keep_peak(const std::filesystem::path& file, const Device& device, std::int64_t index,
               const KnownPeak& peak);

// runtime.peak_flops, else that of the backend, else the measured one. 0: unknown.
double peak_of(const Device& device, const RuntimeConfig& runtime);

}  // namespace trivet
