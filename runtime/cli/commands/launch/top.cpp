// SPDX-License-Identifier: Apache-2.0
// trivet top: shows running jobs, their progress and their resource use.
#include <charconv>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/process_info.h"
#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "cli/view/live_screen.h"
#include "cli/view/run_table.h"
#include "cli/view/text_table.h"
#include "launch/index/jobs_at_work.h"
#include "launch/store/experiment_id.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kTopOptions[] = {
    kRootOption,
    {.name = "interval", .value = "SECONDS", .doc = "Time between updates; default: 2"},
    {.name = "once", .doc = "Print once, also on a terminal"},
    {.name = "json", .doc = "Print JSON, once"},
};

template <class Number, class Text>
std::string cell(const std::optional<Number>& number, const Text& text) {
  return number ? text(*number) : "-";
}

std::string jobs_table(const std::vector<JobAtWork>& jobs, int width) {
  using Align = TextTable::Align;
  TextTable table;
  table.column("JOB");
  table.column("STATE");
  for (const char* head : {"TIME", "CPU%", "MEMORY", "STEP", "STEPS/S", "LOSS", "LEFT"}) {
    table.column(head, Align::right);
  }
  table.column("HOST");
  const double now = unix_time();
  for (const JobAtWork& job : jobs) {
    const auto memory = [](std::int64_t bytes) {
      return format_bytes(static_cast<std::uint64_t>(bytes));
    };
    table.row({job.name, job.state,
               job.started > 0 ? format_duration(std::max(0.0, now - job.started)) : "-",
               cell(job.cores, [](double cores) { return fmt::format("{:.0f}", cores * 100); }),
               cell(job.memory_bytes, memory), step_text(job.run),
               cell(job.steps_per_second, format_rate), cell(job.loss, format_number),
               cell(job.seconds_left(), format_duration), job.host.empty() ? "-" : job.host});
  }
  return table.text(width);
}

std::string page(const std::vector<JobAtWork>& jobs, const std::string& root, int width) {
  if (jobs.empty()) return fmt::format("Nothing is running in {}.\n", printable(root));
  double cores = 0;
  std::int64_t memory = 0;
  for (const JobAtWork& job : jobs) {
    cores += job.cores.value_or(0);
    memory += job.memory_bytes.value_or(0);
  }
  const std::string head =
      fmt::format("{} running in {}  {:.1f} cores  {}", jobs.size(), printable(root), cores,
                  format_bytes(static_cast<std::uint64_t>(memory)));
  return (width > 0 ? clipped(head, width) : head) + "\n\n" + jobs_table(jobs, width);
}

template <class Number>
Value value_or_null(const std::optional<Number>& number) {
  if constexpr (std::is_same_v<Number, double>) {
    return number ? json_number(*number) : Value();
  } else {
    return number ? Value(*number) : Value();
  }
}

Value json_of(const std::vector<JobAtWork>& jobs) {
  Value rows = Value::array();
  const double now = unix_time();
  for (const JobAtWork& job : jobs) {
    const auto from = [](std::int64_t number) { return number < 0 ? Value() : Value(number); };
    rows.push_back(Value::table(
        {{"job", job.name},
         {"xid", job.unit ? Value(job.unit->first) : Value()},
         {"wid", job.unit ? Value(job.unit->second) : Value()},
         {"path", job.run.path.string()},
         {"state", job.state},
         {"run_state", job.run.state},
         {"host", job.host},
         {"started", job.started > 0 ? Value(job.started) : Value()},
         {"seconds", job.started > 0 ? Value(std::max(0.0, now - job.started)) : Value()},
         {"cores", value_or_null(job.cores)},
         {"memory_bytes", value_or_null(job.memory_bytes)},
         {"processes", job.processes},
         {"step", from(job.run.step)},
         {"target", from(job.run.target)},
         {"steps_per_second", value_or_null(job.steps_per_second)},
         {"examples_per_second", value_or_null(job.examples_per_second)},
         {"loss", value_or_null(job.loss)},
         {"seconds_left", value_or_null(job.seconds_left())}}));
  }
  return rows;
}

double interval_of(const Arguments& arguments) {
  const std::string* text = arguments.last("interval");
  if (text == nullptr) return 2;
  double seconds = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, seconds);
  if (error != std::errc() || stop != end || !(seconds >= 0.1 && seconds <= 3600)) {
    throw UsageError("--interval takes a number of seconds from 0.1 to 3600, not '" + *text + "'");
  }
  return seconds;
}

int run_top(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kTopOptions);
  if (!arguments.plain().empty()) {
    throw UsageError("'trivet top' takes no argument",
                     {.hint = "--root DIR names the directory of the experiments"});
  }
  const double interval = interval_of(arguments);
  const std::filesystem::path root = experiments_root(arguments.last("root"));
  JobsAtWork jobs(root);
  if (arguments.has("json")) {
    print_out(to_json(json_of(jobs.look()), JsonStyle::indented));
    return 0;
  }
  if (arguments.has("once") || !is_screen(stdout)) {
    const int width = is_screen(stdout) ? terminal_columns(1) : 0;
    print_out(page(jobs.look(), root.string(), width));
    return 0;
  }
  LiveScreen screen;
  do {
    screen.draw(page(jobs.look(), root.string(), screen.columns()));
  } while (screen.wait(interval));
  return 0;
}

}  // namespace

extern const CommandInfo kTopCommand{
    .name = "top",
    .usage = "top",
    .summary = "Shows running jobs, their progress and their resource use, live",
    .details =
        "Shows the jobs of all experiments below --root, and runs that were started directly.\n"
        "On a terminal it updates until q or Ctrl-C; elsewhere it prints once. CPU% is 100 for\n"
        "one busy core, since the last update, at first since the job's start. CPU% and MEMORY\n"
        "cover all processes of a job and are known on this machine only. STEP, STEPS/S and\n"
        "LOSS are known for jobs that are trivet runs. LEFT estimates the time for the\n"
        "remaining steps, without evaluations.",
    .options = kTopOptions,
    .run = run_top,
};

}  // namespace trivet
