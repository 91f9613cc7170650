// SPDX-License-Identifier: Apache-2.0
#include "device/peak_flops.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/process_info.h"
#include "base/user_directories.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/os/file.h"
#include "trivet/os/process.h"
#include "trivet/tape.h"

namespace trivet {
namespace {

constexpr std::int64_t kSmallest = 256, kLargest = 8192;
constexpr int kTimes = 5;
constexpr double kLongEnough = 0.25;  // seconds

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

Value key_of(const Device& device, std::int64_t index) {
  return Value::table({{"host", host_name()},
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

}  // namespace

double measure_peak(Device& device) {
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

std::filesystem::path peaks_file() {
  const std::filesystem::path cache = cache_directory();
  return cache.empty() ? cache : cache / "trivet" / "peaks.json";
}

std::optional<KnownPeak> find_peak(const std::filesystem::path& file, const Device& device,
                                   std::int64_t index) {
  const Value key = key_of(device, index);
  const Value peaks = read_peaks(file);
  for (const Value& entry : peaks.items()) {
    const Value* flops = entry.find("flops");
    const Value* time = entry.find("measured_at");
    if (flops == nullptr || time == nullptr || !matches(entry, key)) continue;
    return KnownPeak{flops->as_float(), time->as_float()};
  }
  return {};
}

void keep_peak(const std::filesystem::path& file, const Device& device, std::int64_t index,
               const KnownPeak& peak) {
  Value entry = key_of(device, index);
  const Value before = read_peaks(file);
  Value peaks = Value::array();
  for (const Value& other : before.items()) {
    if (!matches(other, entry)) peaks.push_back(other);
  }
  entry.set("flops", peak.flops);
  entry.set("measured_at", peak.measured_at);
  peaks.push_back(std::move(entry));
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  if (failed) throw_system_error("create", file.parent_path(), failed.value());
  replace_file(file, to_json(Value::table({{"peaks", std::move(peaks)}}), JsonStyle::indented),
               Durability::cached);
}

double peak_of(const Device& device, const RuntimeConfig& runtime) {
  if (runtime.peak_flops > 0) return runtime.peak_flops;
  if (const double said = device.info().peak_flops[TV_F32]; said > 0) return said;
  const std::filesystem::path file = peaks_file();
  if (file.empty()) return 0;
  const std::optional<KnownPeak> found = find_peak(file, device, runtime.device);
  return found ? found->flops : 0;
}

}  // namespace trivet
