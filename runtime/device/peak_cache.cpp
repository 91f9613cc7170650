// SPDX-License-Identifier: Apache-2.0
#include "device/peak_cache.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/user_directories.h"
#include "device/processor.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

Value key_of(const Device& device, std::int64_t index) {
  const Processor processor = this_processor();
  return Value::table({{"processor", processor.model},
                       {"microcode", processor.microcode},
                       {"backend", device.key()},
                       {"description", static_cast<const char*>(device.info().name)},
                       {"device", index},
                       {"threads", device.pool().threads()}});
}

bool matches(const Value& entry, const Value& key) {
  return std::all_of(key.members().begin(), key.members().end(), [&](const Value::Member& member) {
    const Value* found = entry.find(member.key);
    return found != nullptr && *found == member.value;
  });
}

Value read_peaks(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return Value::array();
  const Value content = value_from_json(read_text_file(file), file.string());
  const Value* peaks = content.find("peaks");
  if (peaks == nullptr || !peaks->is_array()) {
    throw InputError(file.string() + ": contains no list of peaks",
                     {.hint = "delete it; 'trivet doctor --peak' writes it again"});
  }
  return *peaks;
}

double number_of(const Value& entry, const char* key) {
  const Value* found = entry.find(key);
  return found != nullptr && (found->is_float() || found->is_integer()) ? found->as_float() : 0;
}

Peak peak_from(const Value& entry) {
  const Value* method = entry.find("method");
  const bool bursts = method != nullptr && *method == Value(to_text(PeakMethod::bursts));
  return {.flops = number_of(entry, "flops"),
          .measured_at = number_of(entry, "measured_at"),
          .method = bursts ? PeakMethod::bursts : PeakMethod::products,
          .clock = number_of(entry, "clock"),
          .cores = static_cast<int>(number_of(entry, "cores")),
          .units = static_cast<int>(number_of(entry, "units")),
          .width = static_cast<int>(number_of(entry, "flop_of_instruction")),
          .bytes_per_second = number_of(entry, "bytes_per_second")};
}

// A cache that cannot be written costs the next run some milliseconds. One that was measured beside
// other work is measured again by the next run.
void try_keep(const Device& device, std::int64_t index, const Peak& peak) {
  const std::filesystem::path file = peaks_file();
  if (file.empty() || peak.disturbed()) return;
  try {
    keep_peak(file, device, index, peak);
  } catch (const RunError&) {
  }
}

}  // namespace

std::filesystem::path peaks_file() {
  const std::filesystem::path cache = cache_directory();
  return cache.empty() ? cache : cache / "trivet" / "peaks.json";
}

std::optional<Peak> find_peak(const std::filesystem::path& file, const Device& device,
                              std::int64_t index) {
  const Value key = key_of(device, index);
  const Value peaks = read_peaks(file);
  for (const Value& entry : peaks.items()) {
    if (matches(entry, key) && number_of(entry, "flops") > 0) return peak_from(entry);
  }
  return {};
}

void keep_peak(const std::filesystem::path& file, const Device& device, std::int64_t index,
               const Peak& peak) {
  Value entry = key_of(device, index);
  const Value before = read_peaks(file);
  Value peaks = Value::array();
  double bandwidth = peak.bytes_per_second;
  for (const Value& other : before.items()) {
    if (!matches(other, entry)) {
      peaks.push_back(other);
    } else if (bandwidth == 0) {
      bandwidth = number_of(other, "bytes_per_second");
    }
  }
  entry.set("flops", peak.flops);
  entry.set("measured_at", peak.measured_at);
  entry.set("method", to_text(peak.method));
  entry.set("clock", peak.clock);
  entry.set("cores", peak.cores);
  entry.set("units", peak.units);
  entry.set("flop_of_instruction", peak.width);
  entry.set("bytes_per_second", bandwidth);
  peaks.push_back(std::move(entry));
  std::error_code failed;
  // The folder of caches, but not the user's home.
  const std::filesystem::path folder = file.parent_path();
  std::filesystem::create_directory(folder.parent_path(), failed);
  if (!failed) std::filesystem::create_directory(folder, failed);
  if (failed) throw_system_error("create", file.parent_path(), failed.value());
  replace_file(file, to_json(Value::table({{"peaks", std::move(peaks)}}), JsonStyle::indented),
               Durability::cached);
}

double peak_of(const Device& device, const RuntimeConfig& runtime) {
  if (runtime.peak_flops > 0) return runtime.peak_flops;
  if (const double said = device.info().peak_flops[TV_F32]; said > 0) return said;
  const std::filesystem::path file = peaks_file();
  if (file.empty()) return 0;
  const std::optional<Peak> found = find_peak(file, device, runtime.device);
  return found ? found->flops : 0;
}

double peak_of_run(Device& device, const RuntimeConfig& runtime) {
  if (const double known = peak_of(device, runtime); known > 0) return known;
  const std::optional<Peak> measured = measure_bursts(device);
  if (!measured) return 0;
  try_keep(device, runtime.device, *measured);
  return measured->flops;
}

double raise_peak(Device& device, const RuntimeConfig& runtime, double peak) {
  if (runtime.peak_flops > 0) return peak;
  const std::optional<Peak> measured = measure_bursts(device);
  if (!measured || measured->flops <= peak) return peak;
  try_keep(device, runtime.device, *measured);
  return measured->flops;
}

}  // namespace trivet
