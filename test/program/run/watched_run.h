// SPDX-License-Identifier: Apache-2.0
// Training runs as separate processes that a test can kill at any moment. Tests follow their files
// and compare the results that must not depend on kills.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/directory_watch.h"

namespace trivet::test {

// Enough steps to kill a process at many points, but few enough to end within a second.
inline constexpr std::int64_t kRunSteps = 8000;

// The command line of a training of this many steps of a small configs/vision/local.toml, followed
// by `more` overrides or options.
std::vector<std::string> run_words(const std::filesystem::path& workdir, int threads,
                                   const std::vector<std::string>& more = {});

// A started program with its output in a file. The destructor kills it.
class Process {
 public:
  // `environment` is added to this one's: "NAME=value".
  Process(const std::vector<std::string>& words, std::filesystem::path output,
          const std::vector<std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The exit code, or 128 + the signal that ended it.
  int wait();

  // The reading end of a pipe whose other end only the program has: it hangs up when the program
  // ends in any way.
  int end() const { return end_; }
  std::string output() const;

 private:
  std::filesystem::path output_;
  pid_t pid_ = -1;
  int end_ = -1;
};

// The processes that a process has started.
std::vector<pid_t> children_of(pid_t pid);

// A run in `workdir` from its start, with everything it does to its files.
struct WatchedRun {
  WatchedRun(const std::filesystem::path& workdir, const std::vector<std::string>& words,
             const std::filesystem::path& output, const std::vector<std::string>& environment = {});

  // Each function waits for an event. Returns false if the run ended before it.
  bool wait_for_step(std::int64_t step);      // in metrics.jsonl
  bool wait_for_events(std::uint64_t count);  // of any file
  bool wait_for_save();                       // one has started

  std::filesystem::path workdir;
  DirectoryWatch watch;
  Process process;
};

// Starts, waits and returns the exit code. The output goes to `output`, or to Catch if the run
// fails.
int run_to_end(const std::filesystem::path& workdir, int threads, std::string* output = nullptr,
               const std::vector<std::string>& more = {});

std::filesystem::path checkpoint_of(const std::filesystem::path& workdir, std::int64_t step);
// Whether a run was killed during a save: a partly written or removed checkpoint exists.
bool has_unfinished_checkpoint(const std::filesystem::path& workdir);
// The step of the last complete line of metrics.jsonl. -1 if there is none.
std::int64_t last_step(const std::filesystem::path& workdir);
// Step, kind and values of every record, in order. They must not depend on kills.
std::string record_values(const std::filesystem::path& workdir);
// The tensors of a checkpoint; and with the records all that a run has computed up to its step.
std::string tensors_of(const std::filesystem::path& workdir, std::int64_t step);
std::string results_of(const std::filesystem::path& workdir, std::int64_t step);
// The state in status.json: "done", "preempted" ...
std::string state_of(const std::filesystem::path& workdir);

// The result of a run of kRunSteps.
struct RunResult {
  std::string model, optimizer, records;
  bool operator==(const RunResult&) const = default;
};
RunResult result_of(const std::filesystem::path& workdir);
// Checks that it equals the result of the same uninterrupted run, which runs once for all tests.
void check_undisturbed(const RunResult& result);

}  // namespace trivet::test
