// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "job_states.h"
#include "trivet/error.h"
#include "trivet/launch/job.h"
#include "trivet/text/strings.h"

extern char** environ;

namespace trivet::slurm {
namespace {

constexpr const char* kAskPing = "'scontrol ping' shows whether Slurm's controller is up";

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// A program's output, shortened for a message.
std::string shorten(std::string_view text) {
  constexpr std::size_t kMost = 1000;
  return std::string(trim(text).substr(0, kMost));
}

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text << seconds << " s";
  return text.str();
}

// The environment that sbatch passes to jobs: the variables that jobs get on this machine, and the
// settings of Slurm's commands. If this program itself runs in a Slurm job, sbatch would treat the
// job's variables as options.
std::vector<std::string> submit_environment() {
  std::vector<std::string_view> passed = launch::pass_through_environment();
  passed.insert(passed.end(), {"SLURM_CONF", "SLURM_CLUSTERS", "LD_LIBRARY_PATH", "KRB5CCNAME"});
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool is_passed = std::find(passed.begin(), passed.end(), name) != passed.end();
    if (is_passed || name.starts_with("SBATCH_")) environment.emplace_back(text);
  }
  return environment;
}

std::string output_of(const ProgramResult& result) {
  const std::string text = shorten(result.errors.empty() ? result.out : result.errors);
  return text.empty() ? "exit code " + std::to_string(result.exit_code) : text;
}

// Drops prefixes such as "sbatch: error: " from each line.
std::string without_prefixes(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view prefix : {"sbatch: ", "error: "}) {
      if (line.starts_with(prefix)) line.erase(0, prefix.size());
    }
    all += (all.empty() ? "" : "; ") + line;
  }
  return all;
}

// Whether scancel complains only about tasks that have ended. For tasks that ended a while ago it
// prints nothing and exits with ESLURM_ALREADY_DONE (2021), reduced to 8 bits.
bool reports_ended(const ProgramResult& result) {
  constexpr int kAlreadyDone = 2021 & 0xff;
  std::istringstream lines(result.errors);
  bool any = false;
  for (std::string line; std::getline(lines, line);) {
    if (trim(line).empty()) continue;
    any = true;
    if (line.find("Invalid job id") == std::string::npos &&
        line.find("already completing or completed") == std::string::npos) {
      return false;
    }
  }
  return any || result.exit_code == kAlreadyDone;
}

}  // namespace

bool QueueEntry::has_failed_to_start() const {
  // Newer versions of Slurm use underscores.
  std::string words = reason;
  std::replace(words.begin(), words.end(), '_', ' ');
  return is_pending() && words == "launch failed requeued held";
}

bool QueueEntry::is_active() const {
  const bool has_ended =
      std::find(kEndedStates.begin(), kEndedStates.end(), state) != kEndedStates.end();
  return !has_ended && !has_failed_to_start();
}

Queue Queue::parse(const std::string& text) {
  Queue queue;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::array<std::string, 6> parts;
    std::size_t begin = 0, count = 0;
    for (; count < parts.size(); ++count) {
      const bool is_last = count + 1 == parts.size();
      const std::size_t end = is_last ? line.size() : line.find('|', begin);
      if (end == std::string::npos) break;
      parts[count] = line.substr(begin, end - begin);
      begin = end + 1;
    }
    if (count < parts.size() || !number_of(parts[0])) {
      throw RunError("squeue printed something other than a list of jobs: " + shorten(line));
    }
    // Ignores jobs without an array: they are not ours.
    const std::optional<std::int64_t> task = number_of(parts[1]);
    if (!task) continue;
    queue.ids_[parts[5]] = parts[0];
    queue.entries_[{parts[0], *task}] = QueueEntry{parts[2], parts[3], parts[4]};
  }
  return queue;
}

const QueueEntry* Queue::find(const std::string& job_id, std::int64_t task) const {
  const auto found = entries_.find({job_id, task});
  return found == entries_.end() ? nullptr : &found->second;
}

std::string Queue::job_id_of(const std::string& name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::string() : found->second;
}

ProgramResult Commands::run(const std::vector<std::string>& argv,
                            const ProgramOptions& options) const {
  ProgramOptions limited = options;
  limited.timeout_seconds = timeout_;
  ProgramResult result;
  try {
    result = run_program(argv, limited);
  } catch (const RunError& error) {
    throw RunError(error.message(),
                   {.hint = "slurm/Orchestrator needs Slurm's commands; call trivet where they "
                            "are installed, and on PATH"});
  }
  if (result.timed_out) {
    throw RunError("'" + argv[0] + "' did not answer within " + seconds_text(timeout_),
                   {.hint = std::string(kAskPing) + "; xp.orchestrator.timeout allows more"});
  }
  return result;
}

std::string Commands::answer(const std::vector<std::string>& argv) const {
  ProgramResult result = run(argv);
  if (result.exit_code != 0) {
    throw RunError("'" + argv[0] + "' failed: " + output_of(result), {.hint = kAskPing});
  }
  return std::move(result.out);
}

std::string Commands::submit(std::vector<std::string> arguments, const std::string& script) {
  arguments.insert(arguments.begin(), {"sbatch", "--parsable"});
  arguments.push_back(script);
  const ProgramResult result = run(arguments, {.environment = submit_environment()});
  if (result.exit_code != 0) {
    throw RunError("Slurm did not take the job: " + without_prefixes(output_of(result)),
                   {.hint = kAskPing});
  }
  // "12", or "12;CLUSTER".
  const std::string out = result.out.substr(0, result.out.find(';'));
  const std::string id(trim(out));
  if (!number_of(id)) {
    throw RunError("sbatch printed something other than a job id: " + shorten(result.out));
  }
  return id;
}

std::optional<std::string> Commands::refusal(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"sbatch", "--test-only"});
  arguments.push_back("--wrap=true");
  const ProgramResult result = run(arguments, {.environment = submit_environment()});
  if (result.exit_code == 0) return std::nullopt;
  require_up();
  return without_prefixes(output_of(result));
}

Queue Commands::queue() {
  return Queue::parse(
      answer({"squeue", "--noheader", "--array", "--states=all",
              "--user=" + std::to_string(::getuid()), "--format=" + std::string(kQueueFormat)}));
}

std::int64_t Commands::max_array_size() {
  const std::string text = answer({"scontrol", "show", "config"});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("MaxArraySize")) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) break;
    const std::string value(trim(line.substr(std::min(line.size(), equals + 2))));
    if (const auto number = number_of(value); number && *number > 0) return *number;
  }
  throw RunError("'scontrol show config' prints no MaxArraySize",
                 {.hint = "set xp.orchestrator.max_array_size"});
}

bool Commands::is_up() {
  // One responding controller is enough.
  return run({"scontrol", "ping"}).out.find(" is UP") != std::string::npos;
}

void Commands::require_up() {
  if (is_up()) return;
  throw RunError("Slurm's controller does not answer: 'scontrol ping' says it is down",
                 {.hint = "queued and running jobs continue; try again when it is up"});
}

bool Commands::is_any_active(const std::vector<std::string>& tasks) {
  const Queue now = queue();
  return std::any_of(tasks.begin(), tasks.end(), [&](const std::string& id) {
    const std::size_t line = id.find('_');
    if (line == std::string::npos) return false;
    const std::optional<std::int64_t> task = number_of(std::string_view(id).substr(line + 1));
    const QueueEntry* entry = task ? now.find(id.substr(0, line), *task) : nullptr;
    return entry != nullptr && entry->is_active();
  });
}

void Commands::scancel(const std::vector<std::string>& options,
                       const std::vector<std::string>& tasks) {
  constexpr std::size_t kAtOnce = 500;
  for (std::size_t begin = 0; begin < tasks.size(); begin += kAtOnce) {
    std::vector<std::string> argv = {"scancel"};
    argv.insert(argv.end(), options.begin(), options.end());
    const std::size_t end = std::min(tasks.size(), begin + kAtOnce);
    for (std::size_t i = begin; i < end; ++i) argv.push_back(tasks[i]);
    const ProgramResult result = run(argv);
    if (result.exit_code == 0) continue;
    // scancel also fails if tasks have ended in the meantime.
    require_up();
    if (reports_ended(result)) continue;
    if (is_any_active({argv.begin() + 1, argv.end()})) {
      throw RunError("'scancel' failed: " + output_of(result), {.hint = kAskPing});
    }
  }
}

// Never pass --state=PENDING: it cancels all pending tasks of an array, not only the named ones.
void Commands::cancel(const std::vector<std::string>& tasks) {
  scancel({}, tasks);
}

// The queue shows what was released: a failure may mean that the task is not held any more.
void Commands::release(const std::vector<std::string>& tasks) {
  for (const std::string& task : tasks) run({"scontrol", "release", task});
}

void Commands::terminate(const std::vector<std::string>& tasks) {
  scancel({"--batch", "--signal=TERM"}, tasks);
}

}  // namespace trivet::slurm
