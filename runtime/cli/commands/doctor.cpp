// SPDX-License-Identifier: Apache-2.0
// trivet doctor [--peak | --collective KEY]
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/process_info.h"
#include "base/terminal.h"
#include "cli/command_info.h"
#include "cli/device_options.h"
#include "cli/host_catalog.h"
#include "cli/option_number.h"
#include "cli/view/inspection_text.h"
#include "config/config_arguments.h"
#include "device/peak_cache.h"
#include "processes/exchange_speed.h"
#include "processes/start_processes.h"
#include "processes/world.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/process.h"
#include "trivet/plugin/registry.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

constexpr OptionSpec kDoctorOptions[] = {
    {.name = "peak", .doc = "Measure the peak of arithmetic and memory and store it"},
    {.name = "backend", .value = "KEY", .doc = "Same as runtime.backend; default cpu/Highway"},
    kDeviceOption,
    kThreadsOption,
    {.name = "collective",
     .value = "KEY",
     .doc = "Measure how fast processes exchange data with this engine"},
    {.name = "processes", .value = "N", .doc = "Number of processes for --collective; default 2"},
    {.name = "json", .doc = "As JSON"},
    kPluginDirOption,
};

struct Target {
  std::unique_ptr<Device> device;
  std::int64_t index = 0;
};

Target open_target(const Arguments& arguments) {
  const std::string* named = arguments.last("backend");
  const std::int64_t index = device_index(arguments);
  return {open_backend(named != nullptr ? *named : RuntimeConfig{}.backend, "--backend", index,
                       thread_pool(arguments)),
          index};
}

std::filesystem::path expected_file() {
  std::filesystem::path file = peaks_file();
  if (!file.empty()) return file;
  throw UsageError("the peak cannot be stored: neither XDG_CACHE_HOME nor HOME is set");
}

std::string method_text(const Peak& peak) {
  if (peak.method == PeakMethod::products) return "by products of matrices";
  std::string text = "by bursts of multiply-adds";
  if (peak.clock == 0) return text;
  text += fmt::format("; {} x {:.2f} GHz x {} x {} FLOP are {}/s", count_of(peak.cores, "core"),
                      peak.clock / 1e9, count_of(peak.units, "unit"), peak.width,
                      format_flops(peak.most()));
  if (peak.disturbed()) text += "\n         other work has disturbed it: measure again";
  return text;
}

std::string text_of(const Target& patient, const std::optional<Peak>& peak) {
  const int threads = patient.device->pool().threads();
  std::string text =
      fmt::format("backend  {} {}; {}\n", patient.device->key(), count_of(threads, "thread"),
                  static_cast<const char*>(patient.device->info().name));
  if (!peak) return text + "peak     not measured; 'trivet doctor --peak' does\n";
  text += fmt::format("peak     {}/s, measured {} ago {}\n", format_flops(peak->flops),
                      format_duration(std::max(0.0, unix_time() - peak->measured_at)),
                      method_text(*peak));
  if (peak->bytes_per_second == 0) return text;
  return text + fmt::format("memory   {:.1f} GB/s read\n", peak->bytes_per_second / 1e9);
}

std::string json_of(const Target& target, const std::optional<Peak>& peak) {
  const bool bursts = peak && peak->method == PeakMethod::bursts;
  return to_json(
      Value::table(
          {{"backend", target.device->key()},
           {"description", static_cast<const char*>(target.device->info().name)},
           {"device", target.index},
           {"threads", target.device->pool().threads()},
           {"peak_flops", peak ? Value(peak->flops) : Value()},
           {"measured_at", peak ? Value(peak->measured_at) : Value()},
           {"method", peak ? Value(to_text(peak->method)) : Value()},
           {"disturbed", bursts ? Value(peak->disturbed()) : Value()},
           {"clock", bursts ? Value(peak->clock) : Value()},
           {"bytes_per_second",
            peak && peak->bytes_per_second > 0 ? Value(peak->bytes_per_second) : Value()}}),
      JsonStyle::indented);
}

// In each of the processes; the first one prints.
int measure_exchange(const tv_collective& engine, const std::string& key, bool as_json) {
  World world(engine, key);
  const std::vector<ExchangeSpeed> speeds = exchange_speeds(world);
  if (world.rank() != 0) return 0;
  std::string text =
      fmt::format("collective  {} ({}); {}, {} on this machine\n", key, world.name(),
                  count_of(world.size(), "process", "processes"), world.local_size());
  Value rows = Value::array();
  for (const auto& [bytes, seconds] : speeds) {
    text += fmt::format("{:>10}  {:.3f} ms\n", format_bytes(bytes), seconds * 1e3);
    rows.push_back(
        Value::table({{"bytes", static_cast<std::int64_t>(bytes)}, {"seconds", seconds}}));
  }
  Value figures = Value::table({{"collective", key},
                                {"name", world.name()},
                                {"processes", world.size()},
                                {"processes_of_this_machine", world.local_size()},
                                {"exchanges", rows}});
  if (world.size() > 1) {
    const std::string network = to_text(network_of(speeds, world.size()));
    text += "   network  " + network + "\n";
    figures.set("network", network);
  }
  print_out(as_json ? to_json(figures, JsonStyle::indented) : text);
  return 0;
}

int run_collective(const Arguments& arguments, const std::string& key) {
  for (const std::string_view option : {"peak", "backend", "device", "threads"}) {
    if (!arguments.has(option)) continue;
    throw UsageError(fmt::format("--{} does not go with --collective", option));
  }
  const tv_collective& engine = collective_engine(key, "--collective");
  std::int32_t rank = -1;
  std::int32_t size = 0;
  engine.launched(&rank, &size);
  const std::int64_t wanted = option_number(arguments, "processes", 1, 1024).value_or(0);
  if (rank >= 0) {
    if (arguments.has("processes") && wanted != size) {
      throw UsageError(fmt::format("--processes is {}, and {} were started", wanted, size));
    }
    return measure_exchange(engine, key, arguments.has("json"));
  }
  std::vector<std::string> command = {own_program().string(), "doctor", "--collective", key};
  if (arguments.has("json")) command.emplace_back("--json");
  for (const std::string& directory : arguments.all("plugin-dir")) {
    command.insert(command.end(), {"--plugin-dir", directory});
  }
  return start_processes(engine, wanted == 0 ? 2 : static_cast<int>(wanted), command);
}

int run_doctor(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kDoctorOptions);
  if (!arguments.plain().empty()) {
    throw UsageError("'trivet doctor' takes no argument '" + arguments.plain().front() + "'",
                     {.hint = "--backend KEY names a backend"});
  }
  const HostCatalog catalog(arguments.all("plugin-dir"));
  if (const std::string* key = arguments.last("collective")) return run_collective(arguments, *key);
  if (arguments.has("processes")) throw UsageError("--processes goes with --collective");
  const Target target = open_target(arguments);
  const std::filesystem::path file = expected_file();
  if (arguments.has("peak")) {
    Peak measured = measure_peak(*target.device);
    measured.bytes_per_second = measure_bandwidth(*target.device);
    keep_peak(file, *target.device, target.index, measured);
  }
  const std::optional<Peak> peak = find_peak(file, *target.device, target.index);
  print_out(arguments.has("json") ? json_of(target, peak) : text_of(target, peak));
  return 0;
}

}  // namespace

extern const CommandInfo kDoctorCommand{
    .name = "doctor",
    .usage = "doctor [--peak | --collective KEY]",
    .summary = "Prints the backend of this machine and measures its peak speed",
    .details =
        "With --peak, times bursts of multiply-adds in registers and reading of memory, and\n"
        "stores the best in ~/.cache/trivet/peaks.json. A backend without bursts is measured by\n"
        "products of large matrices. The model FLOPs utilization (mfu) of runs is relative to "
        "this\n"
        "peak. A run that finds none takes the bursts itself. Measure while the machine is\n"
        "otherwise idle.\n"
        "\n"
        "With --collective, starts processes of this machine and times the exchange of a sum: "
        "each\n"
        "process sends a share of its buffer to each other, and gets all shares. Under mpirun the\n"
        "processes are those that it has started. The network is the latency and the bandwidth\n"
        "of these times for 'trivet summary --on-paper --network'.",
    .options = kDoctorOptions,
    .operand = Operand::none,
    .run = run_doctor,
};

}  // namespace trivet
