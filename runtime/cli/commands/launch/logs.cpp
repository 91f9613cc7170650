// SPDX-License-Identifier: Apache-2.0
// trivet logs ID [-f]: prints the output of jobs.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "cli/experiment_refresher.h"
#include "cli/option_number.h"
#include "launch/index/experiment_index.h"
#include "launch/store/experiment_id.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kLogsOptions[] = {
    kRootOption,
    {.name = "follow", .letter = 'f', .doc = "Follow the output until the jobs end"},
    {.name = "attempt", .value = "N", .doc = "Attempt to print; default: the last one"},
};

constexpr std::uint64_t kPiece = 1 << 20;

// One file of one attempt, read as it grows.
class Output {
 public:
  Output(fs::path file, std::string prefix) : file_(std::move(file)), prefix_(std::move(prefix)) {}

  // Prints the whole lines that have come.
  bool print() {
    std::error_code missing;
    if (!fs::exists(file_, missing)) return false;
    const UniqueFd file = open_file(file_, O_RDONLY);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return false;
    const auto size = static_cast<std::uint64_t>(info.st_size);
    bool any = false;
    while (offset_ < size) {
      const std::string part = read_part(file, offset_, std::min(size - offset_, kPiece), file_);
      offset_ += part.size();
      rest_ += part;
      any = print_lines() || any;
    }
    return any;
  }

  // Where nothing more will come: a last line without its end, too.
  bool print_last() {
    const bool any = print();
    if (!rest_.empty()) show(rest_);
    rest_.clear();
    return any;
  }

 private:
  bool print_lines() {
    std::size_t begin = 0;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos;
         end = rest_.find('\n', begin)) {
      show(rest_.substr(begin, end - begin));
      begin = end + 1;
    }
    rest_.erase(0, begin);
    return begin > 0;
  }

  // On a terminal, control characters in a job's output are escaped. A file gets the raw bytes.
  void show(const std::string& line) {
    print_out(prefix_ + (is_screen(stdout) ? printable(line) : line) + "\n");
  }

  fs::path file_;
  std::string prefix_, rest_;
  std::uint64_t offset_ = 0;
};

// A job's streams. A new attempt replaces the previous one.
class JobOutput {
 public:
  JobOutput(fs::path job_directory, std::string prefix)
      : directory_(std::move(job_directory)), prefix_(std::move(prefix)) {}

  bool print(std::int64_t attempt, bool last) {
    bool any = false;
    if (attempt != attempt_) {
      for (Output& output : outputs_) output.print_last();
      outputs_.clear();
      attempt_ = attempt;
      const fs::path directory = directory_ / std::to_string(attempt);
      for (const char* name : {"stdout", "stderr"}) {
        outputs_.emplace_back(directory / name, prefix_);
      }
    }
    for (Output& output : outputs_) any = (last ? output.print_last() : output.print()) || any;
    return any;
  }

 private:
  fs::path directory_;
  std::string prefix_;
  std::int64_t attempt_ = 0;
  std::vector<Output> outputs_;
};

struct Followed {
  std::int64_t wid;
  std::size_t job;
  std::unique_ptr<JobOutput> output;
};

bool is_meant(const ExperimentId& id, const UnitView& unit, const JobView& job) {
  return (!id.wid || unit.wid == *id.wid) && (!id.job || job.name == *id.job);
}

// The jobs of an ID, including jobs that a search adds later.
class FollowedJobs {
 public:
  explicit FollowedJobs(const ExperimentId& id) : id_(id) {}

  void take_up(const ExperimentView& view) {
    for (const UnitView& unit : view.units) {
      for (std::size_t i = 0; i < unit.jobs.size(); ++i) {
        if (!is_meant(id_, unit, unit.jobs[i]) || is_known(unit.wid, i)) continue;
        jobs_.push_back({unit.wid, i, nullptr});
      }
    }
    for (Followed& each : jobs_) {
      if (each.output) continue;
      const JobView& job = unit_of(view, each.wid).jobs[each.job];
      const bool is_one = jobs_.size() == 1 && (id_.wid || !makes_units(view));
      const std::string prefix = is_one ? "" : fmt::format("[{}/{}] ", each.wid, job.name);
      each.output = std::make_unique<JobOutput>(job.directory, prefix);
    }
  }
  bool empty() const { return jobs_.empty(); }

  // Prints new output. Returns false if there was none and no more will come.
  bool print(const ExperimentView& view, std::int64_t attempt_wanted, bool follow) {
    bool ended = true, any = false;
    for (const Followed& each : jobs_) {
      const launch::JobStatus& status = unit_of(view, each.wid).jobs[each.job].status;
      const bool last = is_final(status.state);
      ended = ended && last;
      const std::int64_t attempt = attempt_wanted > 0 ? attempt_wanted : status.attempt;
      if (attempt > 0) any = each.output->print(attempt, last || !follow) || any;
    }
    return any || !ended || (!id_.wid && makes_units(view));
  }

  // Whether a running supervisor may add units.
  static bool makes_units(const ExperimentView& view) {
    std::error_code ignored;
    return view.supervised && fs::exists(view.directory / "search.json", ignored);
  }

 private:
  bool is_known(std::int64_t wid, std::size_t job) const {
    return std::any_of(jobs_.begin(), jobs_.end(),
                       [&](const Followed& one) { return one.wid == wid && one.job == job; });
  }

  const ExperimentId& id_;
  std::vector<Followed> jobs_;
};

// If an experiment has no units yet, a supervisor that has just started may add some.
bool may_get_units(const ExperimentView& view, const ExperimentId& id) {
  return view.units.empty() && !id.wid && view.supervised;
}

int run_logs(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kLogsOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() != 1) throw UsageError("'trivet logs' takes one ID");
  const ExperimentId id = find_experiment(plain[0], experiments_root(arguments.last("root")));
  const std::int64_t attempt = option_number(arguments, "attempt", 1).value_or(0);
  const bool follow = arguments.has("follow");
  ExperimentIndex index(id);
  ExperimentRefresher refresher;
  FollowedJobs jobs(id);
  while (true) {
    const ExperimentView view = refresher.view_again(index, id);
    jobs.take_up(view);
    const bool waits = jobs.empty() && follow && may_get_units(view, id);
    if (jobs.empty() && !waits) throw UsageError("'" + plain[0] + "' names no job");
    const bool goes_on = jobs.print(view, attempt, follow);
    flush_out();
    if (!follow || (!goes_on && !waits)) return 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace

extern const CommandInfo kLogsCommand{
    .name = "logs",
    .usage = "logs ID",
    .summary = "Prints the output of jobs",
    .details = "ID is XID, XID/WID or XID/WID/JOB. Lines of several jobs start with [WID/JOB].",
    .options = kLogsOptions,
    .operand = Operand::path,
    .run = run_logs,
};

}  // namespace trivet
