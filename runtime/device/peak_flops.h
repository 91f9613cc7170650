// SPDX-License-Identifier: Apache-2.0
// The peak of a device in FLOP/s, which model FLOPs utilization (MFU) is a share of: the fastest
// matrix product that was measured. Measurements of this machine are kept in
// ~/.cache/trivet/peaks.json, one for each backend, number of threads and device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "trivet/experiment.h"
#include "trivet/tensor/device.h"

namespace trivet {

// Of f32 products of square matrices, whose sizes double from 256 on until five products take more
// than a quarter of a second; of these five the shortest counts. Takes about two seconds.
double measure_peak(Device& device);

// XDG_CACHE_HOME/trivet/peaks.json; empty where no folder of the user is known.
std::filesystem::path peaks_file();

struct KnownPeak {
  double flops = 0;
  double measured_at = 0;  // seconds since 1970
};

// What was measured here with this backend, description and number of threads; nothing if it never
// was. `index` is runtime.device. Throws InputError for a file that is damaged.
std::optional<KnownPeak> find_peak(const std::filesystem::path& file, const Device& device,
                                   std::int64_t index);
// Takes the location of an older one. Throws RunError for a file that cannot be written.
void keep_peak(const std::filesystem::path& file, const Device& device, std::int64_t index,
               const KnownPeak& peak);

// runtime.peak_flops, else what the backend says, else what was measured; 0: not known.
double peak_of(const Device& device, const RuntimeConfig& runtime);

}  // namespace trivet
