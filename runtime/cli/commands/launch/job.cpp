// SPDX-License-Identifier: Apache-2.0
// trivet job FILE TASK: runs a task of a job array. The script of a cluster's job calls it
// (trivet/launch/job_array.h).
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/terminal.h"
#include "cli/command_info.h"
#include "launch/store/disk_records.h"
#include "trivet/config/arguments.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/launch/job_array.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

constexpr OptionSpec kJobOptions[] = {
    {.name = "detail",
     .value = "TEXT",
     .doc = "Text that 'trivet status' shows while the task runs"},
    {.name = "nodes",
     .value = "N",
     .doc = "Machines that the cluster has given to the job, for one that chooses its processes"},
    {.name = "elsewhere",
     .doc = "Does not try again on several machines after a failure, but asks to be restarted"},
    {.name = "ready", .doc = "Print 'ready PID' once signals can be handled"},
};

std::int64_t node_count(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < 1) {
    throw UsageError("--nodes takes a number of machines, not '" + text + "'");
  }
  return number;
}

std::size_t task_number(const std::string& text, std::size_t tasks) {
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number >= tasks) {
    throw UsageError("'" + text +
                     "' is not a task of this array; number of tasks: " + std::to_string(tasks));
  }
  return number;
}

const launch::Job& job_of(const DiskRecords& records, std::int64_t wid, const std::string& name) {
  const launch::WorkUnit* unit = records.find_unit(wid);
  if (unit != nullptr) {
    for (const launch::Job& job : unit->jobs) {
      if (job.name == name) return job;
    }
  }
  throw RunError(records.directory().string() + " contains no job '" + name + "' of unit " +
                 std::to_string(wid));
}

int run_array_job(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kJobOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() != 2) throw UsageError("'trivet job' takes an array's file and a task");
  // Signals have been blocked since the program started, so none is lost.
  if (arguments.has("ready")) {
    print_out("ready " + std::to_string(::getpid()) + "\n");
    flush_out();
  }
  const launch::JobArray array =
      launch::job_array_from(value_from_json(read_text_file(plain[0]), plain[0]));
  const std::int64_t wid = array.wids[task_number(plain[1], array.wids.size())];
  DiskRecords records(array.experiment);
  const std::string* nodes = arguments.last("nodes");
  launch::Job chosen = job_of(records, wid, array.job);
  if (nodes != nullptr) chosen = launch::for_nodes(std::move(chosen), node_count(*nodes));
  const launch::Job job = launch::with_starter(std::move(chosen), array);
  const launch::JobState state = records.status(wid, job.name).state;
  if (launch::is_final(state) && state != launch::JobState::lost) {
    const std::string text = fmt::format("job '{}' of unit {} is {} and does not start again\n",
                                         job.name, wid, enum_name(state));
    std::fputs(text.c_str(), stderr);
  }
  launch::JobRunOptions options{.attempt = launch::attempt_options(array)};
  options.retries_elsewhere = arguments.has("elsewhere") && nodes != nullptr && *nodes != "1";
  if (const std::string* detail = arguments.last("detail")) options.detail = *detail;
  return launch::run_job(records, wid, job, options);
}

// Blocks the signals that the script of a cluster's job passes on until an attempt handles them.
// Otherwise they would end the program.
void hold_job_signals() {
  sigset_t held;
  ::sigemptyset(&held);
  for (const int signal : launch::kTaskSignals) ::sigaddset(&held, signal);
  ::pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

}  // namespace

extern const CommandInfo kJobCommand{
    .name = "job",
    .usage = "job FILE TASK",
    .summary = "",  // internal: not in the overview
    .details = "Runs one task of an array of jobs; the script of a cluster's job calls it.",
    .options = kJobOptions,
    .operand = Operand::path,
    .run = run_array_job,
    .at_process_start = hold_job_signals,
};

}  // namespace trivet
