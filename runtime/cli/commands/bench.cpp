// SPDX-License-Identifier: Apache-2.0
// trivet bench [BACKEND...]
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "cli/command_info.h"
#include "cli/device_options.h"
#include "cli/host_catalog.h"
#include "cli/view/inspection_text.h"
#include "config/config_arguments.h"
#include "device/peak_flops.h"
#include "profile/op_times.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/config/json.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"
#include "trivet/experiment.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

constexpr OptionSpec kBenchOptions[] = {
    {.name = "op", .value = "NAME", .doc = "Only operations of this name", .repeatable = true},
    kDeviceOption,
    kThreadsOption,
    {.name = "json", .doc = "As JSON"},
    kPluginDirOption,
};

struct Subject {
  std::unique_ptr<Device> device;
  Peak peak;
};

std::vector<Subject> open_subjects(const Arguments& arguments) {
  std::vector<std::string> keys = arguments.plain();
  if (keys.empty()) keys.push_back(RuntimeConfig{}.backend);
  const std::shared_ptr<ThreadPool> pool = thread_pool(arguments);
  std::vector<Subject> subjects;
  for (auto key = keys.begin(); key != keys.end(); ++key) {
    if (std::find(keys.begin(), key, *key) != key) {
      throw UsageError("'trivet bench' got the backend '" + *key + "' twice");
    }
    subjects.push_back({open_backend(*key, "command line", device_index(arguments), pool), {}});
  }
  return subjects;
}

// Each once, in order.
std::vector<std::string> names_of(const std::vector<OpCase>& cases) {
  std::vector<std::string> names;
  for (const OpCase& op : cases) {
    if (names.empty() || names.back() != op.op) names.emplace_back(op.op);
  }
  return names;
}

// In lines of about 80 columns.
std::string operations_text() {
  std::string text, line = "Operations:";
  for (const std::string& name : names_of(op_cases())) {
    if (line.size() + name.size() > 78) text += std::exchange(line, "") + "\n";
    line += (line.empty() ? "" : " ") + name + ",";
  }
  line.back() = '\n';
  return text + line;
}

std::vector<OpCase> chosen_cases(const Arguments& arguments) {
  std::vector<OpCase> cases = op_cases();
  const std::vector<std::string> wanted = arguments.all("op");
  const std::vector<std::string> names = names_of(cases);
  for (const std::string& name : wanted) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw UsageError("--op: there is no operation '" + name + "'",
                     {.hint = suggestion(name, names)});
  }
  if (wanted.empty()) return cases;
  std::erase_if(cases,
                [&](const OpCase& op) { return std::ranges::find(wanted, op.op) == wanted.end(); });
  return cases;
}

std::string title_of(const Subject& subject) {
  const Device& device = *subject.device;
  std::string text = fmt::format(
      "{}: {}, {}; peak {}/s", device.key(), static_cast<const char*>(device.info().name),
      count_of(device.pool().threads(), "thread"), format_flops(subject.peak.flops));
  if (subject.peak.bytes_per_second > 0) {
    text += fmt::format(", memory {:.1f} GB/s", subject.peak.bytes_per_second / 1e9);
  }
  if (subject.peak.disturbed()) text += "; other work has disturbed the peak: measure again";
  return text + "\n";
}

// Of a peak that is unknown: nothing.
std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

// Lines that are printed one by one: op and operands have the width of the longest.
class Lines {
 public:
  Lines(const std::vector<OpCase>& cases, const std::vector<Subject>& subjects)
      : subjects_(subjects) {
    for (const OpCase& op : cases) {
      op_ = std::max(op_, op.op.size());
      operands_ = std::max(operands_, op.operands.size());
    }
    for (const Subject& subject : subjects) key_ = std::max(key_, subject.device->key().size());
  }

  std::string head() const {
    return line("op", "operands", "pass", "backend",
                {"ms", "GFLOP/s", "GB/s", "of peak", "of memory"}, "speed", "kernels");
  }

  std::string of(const OpCase& op, std::string_view pass, std::size_t subject, const PassTime& time,
                 const PassTime& first) const {
    const Peak& peak = subjects_[subject].peak;
    const double flops = time.flops_per_second(), bytes = time.bytes_per_second();
    return line(op.op, op.operands, pass, subjects_[subject].device->key(),
                {fmt::format("{:.4f}", 1e3 * time.seconds), fmt::format("{:.1f}", 1e-9 * flops),
                 fmt::format("{:.1f}", 1e-9 * bytes), percent(flops, peak.flops),
                 percent(bytes, peak.bytes_per_second)},
                fmt::format("{:.2f}", time.seconds > 0 ? first.seconds / time.seconds : 0.0),
                kernels_of(time));
  }

 private:
  static std::string kernels_of(const PassTime& time) {
    if (time.kernels.size() == 1) return time.kernels.front();
    return count_of(static_cast<std::int64_t>(time.kernels.size()), "kernel");
  }

  std::string line(std::string_view op, std::string_view operands, std::string_view pass,
                   std::string_view key, const std::vector<std::string>& figures,
                   std::string_view speed, std::string_view kernels) const {
    const bool compares = subjects_.size() > 1;
    std::string text = fmt::format("{:<{}}  {:<{}}  {:<8}", op, op_, operands, operands_, pass);
    if (compares) text += fmt::format("  {:<{}}", key, key_);
    for (const std::string& figure : figures) text += fmt::format("  {:>9}", figure);
    if (compares) text += fmt::format("  {:>6}", speed);
    return text + fmt::format("  {}\n", kernels);
  }

  const std::vector<Subject>& subjects_;
  std::size_t op_ = 0, operands_ = 0, key_ = 0;
};

Value known(double figure) {
  return figure > 0 ? Value(figure) : Value();
}

Value json_of(const OpCase& op, std::string_view pass, const Subject& subject,
              const PassTime& time) {
  Value kernels = Value::array();
  for (const std::string& kernel : time.kernels) kernels.push_back(kernel);
  const double flops = time.flops_per_second(), bytes = time.bytes_per_second();
  const Peak& peak = subject.peak;
  return Value::table(
      {{"op", std::string(op.op)},
       {"operands", std::string(op.operands)},
       {"pass", std::string(pass)},
       {"backend", subject.device->key()},
       {"seconds", time.seconds},
       {"flops", time.flops},
       {"bytes", time.bytes},
       {"peak_share", peak.flops > 0 ? Value(flops / peak.flops) : Value()},
       {"memory_share", peak.bytes_per_second > 0 ? Value(bytes / peak.bytes_per_second) : Value()},
       {"kernels", kernels}});
}

Value json_of(const Subject& subject) {
  const Device& device = *subject.device;
  return Value::table({{"key", device.key()},
                       {"description", static_cast<const char*>(device.info().name)},
                       {"threads", device.pool().threads()},
                       {"peak_flops", known(subject.peak.flops)},
                       {"bytes_per_second", known(subject.peak.bytes_per_second)}});
}

int run_bench(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kBenchOptions);
  const HostCatalog catalog(arguments.all("plugin-dir"));
  const std::vector<OpCase> cases = chosen_cases(arguments);
  std::vector<Subject> subjects = open_subjects(arguments);
  const bool as_json = arguments.has("json");
  const auto show = [&](const std::string& text) {
    if (as_json) return;
    print_out(text);
    std::fflush(stdout);
  };
  Value backends = Value::array(), rows = Value::array();
  std::vector<Device*> devices;
  for (Subject& subject : subjects) {
    subject.peak = measure_peak(*subject.device);
    subject.peak.bytes_per_second = measure_bandwidth(*subject.device);
    devices.push_back(subject.device.get());
    backends.push_back(json_of(subject));
    show(title_of(subject));
  }
  const Lines lines(cases, subjects);
  show("\n" + lines.head());
  for (const OpCase& op : cases) {
    const std::vector<OpTime> times = time_op(op, devices);
    const auto add = [&](std::string_view pass, auto pass_of) {
      const PassTime* const first = pass_of(times.front());
      for (std::size_t i = 0; first != nullptr && i < times.size(); ++i) {
        const PassTime& time = *pass_of(times[i]);
        show(lines.of(op, pass, i, time, *first));
        rows.push_back(json_of(op, pass, subjects[i], time));
      }
    };
    add("forward", [](const OpTime& time) { return &time.forward; });
    add("backward", [](const OpTime& time) { return time.backward ? &*time.backward : nullptr; });
  }
  if (!as_json) return 0;
  print_out(to_json(Value::table({{"backends", backends}, {"rows", rows}}), JsonStyle::indented));
  return 0;
}

}  // namespace

extern const CommandInfo kBenchCommand{
    .name = "bench",
    .usage = "bench [BACKEND...]",
    .summary = "Measures how fast backends compute the operations of common models",
    .details =
        "Without BACKEND, measures cpu/Highway. Several backends take turns, and the column\n"
        "'speed' is relative to the first. Measures the peak of arithmetic and memory before.\n"
        "\n"
        "Each row is the fastest of at least three runs: the time of its kernels, without the\n"
        "work of the host between them. An operation that the backend has no kernel for is\n"
        "composed of several. FLOPs and bytes are computed from the operands, each of which\n"
        "counts once. Operands that stay in a cache can exceed the speed of memory.",
    .options = kBenchOptions,
    .operand = Operand::kind_or_key,
    .more_details = operations_text,
    .run = run_bench,
};

}  // namespace trivet
