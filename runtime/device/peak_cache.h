// SPDX-License-Identifier: Apache-2.0
// The peaks that were measured on this kind of processor, in ~/.cache/trivet/peaks.json: one for
// each backend, number of threads and device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "device/peak_flops.h"
#include "trivet/experiment.h"

namespace trivet {

// XDG_CACHE_HOME/trivet/peaks.json. Empty if the user's folder is unknown.
std::filesystem::path peaks_file();

// The peak of this model of processor and microcode with this backend, description and number of
// threads, if any. `index` is runtime.device. Throws InputError if the file is damaged.
std::optional<Peak> find_peak(const std::filesystem::path& file, const Device& device,
                              std::int64_t index);
// Replaces an older peak, whose bandwidth stays if none was measured. Throws RunError if the file
// cannot be written.
void keep_peak(const std::filesystem::path& file, const Device& device, std::int64_t index,
               const Peak& peak);

// runtime.peak_flops, else that of the backend, else the measured one. 0: unknown.
double peak_of(const Device& device, const RuntimeConfig& runtime);

// peak_of, or else bursts of now, which are stored if the file can be written. 0 for a backend
// without bursts.
double peak_of_run(Device& device, const RuntimeConfig& runtime);

// Bursts of now if a run has reached more than its peak: the peak was measured beside other work.
// Stores and returns the larger one.
double raise_peak(Device& device, const RuntimeConfig& runtime, double peak);

}  // namespace trivet
