// SPDX-License-Identifier: Apache-2.0
#include "watched_run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include <catch2/catch.hpp>

#include "support/overrides.h"
#include "support/paths.h"
#include "support/shell.h"
#include "trivet/config/json.h"
#include "trivet/config/value.h"
#include "trivet/os/file.h"

namespace trivet::test {
namespace {

namespace fs = std::filesystem;

const fs::path& made(const fs::path& directory) {
  fs::create_directories(directory);
  return directory;
}

bool is_unfinished(const fs::path& checkpoint) {
  return checkpoint.filename().string().starts_with(".tmp_");
}

std::string text_or_nothing(const fs::path& path) {
  return fs::exists(path) ? read_text_file(path) : std::string();
}

const RunResult& undisturbed() {
  static const RunResult result = [] {
    const TempDir temp;
    std::string output;
    const int code = run_to_end(temp.path() / "run", 1, &output);
    INFO(output);
    REQUIRE(code == 0);
    return result_of(temp.path() / "run");
  }();
  return result;
}

}  // namespace

std::vector<std::string> run_words(const fs::path& workdir, int threads,
                                   const std::vector<std::string>& more) {
  std::vector<std::string> all = {program().string(),
                                  "run",
                                  (source_root() / "configs/vision/local.toml").string(),
                                  "--workdir",
                                  workdir.string(),
                                  "trainer.train_steps=" + std::to_string(kRunSteps),
                                  "trainer.steps_per_loop=17",
                                  "trainer.validation_interval=1100",
                                  "trainer.checkpoint_interval=250",
                                  "task.model.hidden_dims=[16]",
                                  "task.train_input.batch_size=32",
                                  "task.eval_input.examples=64",
                                  "runtime.threads=" + std::to_string(threads)};
  all.insert(all.end(), more.begin(), more.end());
  return last_of_each(all);
}

Process::Process(const std::vector<std::string>& words, fs::path output,
                 const std::vector<std::string>& environment)
    : output_(std::move(output)) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int life[2];
  REQUIRE(::pipe2(life, O_CLOEXEC) == 0);
  end_ = life[0];
  const int fd = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  pid_ = ::fork();
  if (pid_ != 0) {
    ::close(life[1]);
    ::close(fd);
    return;
  }
  ::fcntl(life[1], F_SETFD, 0);
  ::dup2(fd, 1);
  ::dup2(fd, 2);
  for (const std::string& setting : environment) ::putenv(const_cast<char*>(setting.c_str()));
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  ::close(end_);
}

void Process::signal(int number) const {
  ::kill(pid_, number);
}

int Process::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Process::output() const {
  return read_text_file(output_);
}

WatchedRun::WatchedRun(const fs::path& workdir_, const std::vector<std::string>& words,
                       const fs::path& output, const std::vector<std::string>& environment)
    : workdir(workdir_), watch(made(workdir_)), process(words, output, environment) {}

bool WatchedRun::wait_for_step(std::int64_t step) {
  while (last_step(workdir) < step) {
    if (!watch.wait(process.end())) return false;
  }
  return true;
}

bool WatchedRun::wait_for_events(std::uint64_t count) {
  for (; count > 0; --count) {
    if (!watch.wait(process.end())) return false;
  }
  return true;
}

bool WatchedRun::wait_for_save() {
  fs::path path;
  while (watch.wait(process.end(), &path)) {
    if (path.parent_path() == workdir / "checkpoints" && is_unfinished(path)) return true;
  }
  return false;
}

std::vector<pid_t> children_of(pid_t pid) {
  const std::string number = std::to_string(pid);
  std::istringstream text(read_file("/proc/" + number + "/task/" + number + "/children"));
  std::vector<pid_t> children;
  for (pid_t child = 0; text >> child;) children.push_back(child);
  return children;
}

int run_to_end(const fs::path& workdir, int threads, std::string* output,
               const std::vector<std::string>& more) {
  const TempDir log;  // not next to the run: its disk may be full
  Process process(run_words(workdir, threads, more), log.path() / "out");
  const int code = process.wait();
  if (output != nullptr) *output = process.output();
  if (code != 0 && output == nullptr) UNSCOPED_INFO(process.output());
  return code;
}

fs::path checkpoint_of(const fs::path& workdir, std::int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step_%08lld", static_cast<long long>(step));
  return workdir / "checkpoints" / name;
}

bool has_unfinished_checkpoint(const fs::path& workdir) {
  if (!fs::exists(workdir / "checkpoints")) return false;
  const fs::directory_iterator entries(workdir / "checkpoints");
  return std::any_of(begin(entries), end(entries),
                     [](const auto& entry) { return is_unfinished(entry.path()); });
}

std::int64_t last_step(const fs::path& workdir) {
  std::string text = text_or_nothing(workdir / "metrics.jsonl");
  text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n'));
  if (text.empty()) return -1;
  const std::size_t start = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  return value_from_json(text.substr(start), "metrics.jsonl").find("step")->as_integer();
}

std::string record_values(const fs::path& workdir) {
  std::istringstream text(read_text_file(workdir / "metrics.jsonl"));
  std::string line, all;
  while (std::getline(text, line)) {
    const Value record = value_from_json(line, "metrics.jsonl");
    all += record.find("kind")->as_string() + " " + to_toml(*record.find("step")) + " " +
           to_toml(*record.find("values")) + "\n";
  }
  return all;
}

std::string tensors_of(const fs::path& workdir, std::int64_t step) {
  std::string all;
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "ema.safetensors"}) {
    const fs::path path = checkpoint_of(workdir, step) / file;
    if (fs::exists(path)) all += read_file(path);
  }
  return all;
}

std::string results_of(const fs::path& workdir, std::int64_t step) {
  return record_values(workdir) + tensors_of(workdir, step);
}

std::string state_of(const fs::path& workdir) {
  const Value status = value_from_json(read_text_file(workdir / "status.json"), "status.json");
  return status.find("state")->as_string();
}

RunResult result_of(const fs::path& workdir) {
  const fs::path checkpoint = checkpoint_of(workdir, kRunSteps);
  return {read_text_file(checkpoint / "model.safetensors"),
          read_text_file(checkpoint / "optimizer.safetensors"), record_values(workdir)};
}

void check_undisturbed(const RunResult& result) {
  CHECK(result.model == undisturbed().model);
  CHECK(result.optimizer == undisturbed().optimizer);
  CHECK(result.records == undisturbed().records);
}

}  // namespace trivet::test
