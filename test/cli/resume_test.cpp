// SPDX-License-Identifier: Apache-2.0
// A run through the real program: killed, stopped, refused, out of disk, and always continued to
// the same bytes.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/directory_watch.h"
#include "support/paths.h"
#include "support/shell.h"
#include "train/file_io.h"
#include "train/json_value.h"
#include "trivet/value.h"

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// Enough steps that a process can be caught at many places, small enough to be over in a second.
constexpr std::int64_t kSteps = 8000;

std::vector<std::string> arguments(const fs::path& workdir, int threads,
                                   const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = {test::program().string(),
                                  "run",
                                  (test::source_root() / "configs/vision/local.toml").string(),
                                  "--workdir",
                                  workdir.string(),
                                  "trainer.train_steps=" + std::to_string(kSteps),
                                  "trainer.steps_per_loop=17",
                                  "trainer.validation_interval=1100",
                                  "trainer.checkpoint_interval=250",
                                  "task.model.hidden_dims=[16]",
                                  "task.train_input.batch_size=32",
                                  "task.eval_input.examples=64",
                                  "runtime.threads=" + std::to_string(threads)};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// A started program with its output in a file.
class Child {
 public:
  Child(const std::vector<std::string>& words, fs::path output) : output_(std::move(output)) {
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
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    ::close(end_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  // The exit code, or 128 + the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // The reading end of a pipe that only the program holds the other end of: it is hung up when the
  // program ends, however that comes.
  int end() const { return end_; }
  std::string output() const { return read_text(output_); }

 private:
  fs::path output_;
  pid_t pid_ = -1;
  int end_ = -1;
};

int run_to_end(const fs::path& workdir, int threads, std::string* output = nullptr,
               const std::vector<std::string>& more = {}) {
  const test::TempDir log;  // not beside the run: its disk may be full
  Child child(arguments(workdir, threads, more), log.path() / "out");
  const int code = child.wait();
  if (output != nullptr) *output = child.output();
  if (code != 0 && output == nullptr) UNSCOPED_INFO(child.output());
  return code;
}

std::string text_or_nothing(const fs::path& path) {
  return fs::exists(path) ? read_text(path) : std::string();
}

// The step of the last whole line; -1 while there is none.
std::int64_t last_step(const fs::path& workdir) {
  std::string text = text_or_nothing(workdir / "metrics.jsonl");
  text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n'));
  if (text.empty()) return -1;
  const std::size_t start = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  return value_from_json(text.substr(start), "metrics.jsonl").find("step")->as_integer();
}

// A run in `workdir` from its start, with everything it does to its files.
struct WatchedRun {
  WatchedRun(const fs::path& workdir_, const std::vector<std::string>& words,
             const fs::path& output)
      : workdir(workdir_), watch(made(workdir_)), child(words, output) {}

  static const fs::path& made(const fs::path& directory) {
    fs::create_directories(directory);
    return directory;
  }

  // Each waits for a fact; false when the run ended before.
  bool wait_for_step(std::int64_t step) {
    while (last_step(workdir) < step) {
      if (!watch.wait(child.end())) return false;
    }
    return true;
  }
  bool wait_for_events(unsigned count) {
    for (; count > 0; --count) {
      if (!watch.wait(child.end())) return false;
    }
    return true;
  }
  bool wait_for_save() {
    fs::path path;
    while (watch.wait(child.end(), &path)) {
      if (path.parent_path() == workdir / "checkpoints" && is_unfinished(path)) return true;
    }
    return false;
  }
  static bool is_unfinished(const fs::path& checkpoint) {
    return checkpoint.filename().string().starts_with(".tmp_");
  }

  fs::path workdir;
  test::DirectoryWatch watch;
  Child child;
};

// Whether the run was killed inside a save: what it was writing, or removing, lies there.
bool has_unfinished_checkpoint(const fs::path& workdir) {
  if (!fs::exists(workdir / "checkpoints")) return false;
  const fs::directory_iterator entries(workdir / "checkpoints");
  return std::any_of(begin(entries), end(entries),
                     [](const auto& entry) { return WatchedRun::is_unfinished(entry.path()); });
}

// What must not depend on kills: step, kind and values of every record, in order.
std::string records(const fs::path& workdir) {
  std::istringstream text(read_text(workdir / "metrics.jsonl"));
  std::string line, all;
  while (std::getline(text, line)) {
    const Value record = value_from_json(line, "metrics.jsonl");
    all += record.find("kind")->as_text() + " " + to_toml(*record.find("step")) + " " +
           to_toml(*record.find("values")) + "\n";
  }
  return all;
}

struct Result {
  std::string model, optimizer, records;
  bool operator==(const Result&) const = default;
};

Result result_of(const fs::path& workdir) {
  char name[32];
  std::snprintf(name, sizeof name, "step_%08d", static_cast<int>(kSteps));
  const fs::path checkpoint = workdir / "checkpoints" / name;
  return {read_text(checkpoint / "model.safetensors"),
          read_text(checkpoint / "optimizer.safetensors"), records(workdir)};
}

// The run left alone, once for all tests.
const Result& undisturbed() {
  static const Result result = [] {
    test::TempDir temp;
    std::string output;
    const int code = run_to_end(temp.path() / "run", 1, &output);
    INFO(output);
    REQUIRE(code == 0);
    return result_of(temp.path() / "run");
  }();
  return result;
}

void check_equal(const Result& result) {
  CHECK(result.model == undisturbed().model);
  CHECK(result.optimizer == undisturbed().optimizer);
  CHECK(result.records == undisturbed().records);
}

std::string state_of(const fs::path& workdir) {
  const Value status = value_from_json(read_text(workdir / "status.json"), "status.json");
  return status.find("state")->as_text();
}

}  // namespace

TEST_CASE("a run killed at twenty moments ends in the bytes of one left alone") {
  for (const int threads : {1, 2}) {
    INFO(threads << " threads");
    test::TempDir temp;
    const fs::path workdir = temp.path() / "run";
    std::mt19937 random(static_cast<unsigned>(threads));
    int kills = 0, inside_saves = 0;
    for (int i = 0; i < 20; ++i) {
      WatchedRun run(workdir, arguments(workdir, threads), temp.path() / "out");
      // Some are hit while they start, the others behind a step of their own, of those every other
      // one at a random place of the save that comes next.
      bool alive = i % 5 == 0 || run.wait_for_step(i * kSteps / 21);
      if (i % 5 != 0 && i % 2 == 0) alive = alive && run.wait_for_save();
      alive = alive && run.wait_for_events(random() % 12);
      run.child.signal(SIGKILL);
      const int code = run.child.wait();
      INFO(run.child.output());
      REQUIRE((code == 128 + SIGKILL || (code == 0 && !alive)));
      kills += code == 128 + SIGKILL ? 1 : 0;
      inside_saves += has_unfinished_checkpoint(workdir) ? 1 : 0;
    }
    CHECK(kills >= 15);  // a slow moment of this test may let a run end before it is hit
    CHECK(inside_saves > 0);
    REQUIRE(run_to_end(workdir, threads) == 0);
    check_equal(result_of(workdir));
    CHECK(state_of(workdir) == "done");
  }
}

TEST_CASE(
    "averages, accumulated gradients and several optimizers survive kills in the same bytes") {
  const std::vector<std::string> more = {
      "trainer.ema.decay=0.99", "trainer.gradient_accumulation=4",
      "trainer.frozen=[\"hidden_0/b\"]", "trainer.recovery_max_trials=3",
      "trainer.learners=[{name=\"last\",variables=[\"output/.*\"],"
      "optimizer={type=\"optim/Lamb\"},learning_rate=0.01}]"};
  test::TempDir temp;
  const fs::path straight = temp.path() / "straight", killed = temp.path() / "killed";
  REQUIRE(run_to_end(straight, 1, nullptr, more) == 0);
  std::mt19937 random(5);
  int kills = 0;
  for (int i = 1; i <= 4; ++i) {
    WatchedRun run(killed, arguments(killed, 1, more), temp.path() / "out");
    bool alive = run.wait_for_step(i * kSteps / 5);
    alive = alive && run.wait_for_events(random() % 12);
    run.child.signal(SIGKILL);
    kills += run.child.wait() == 128 + SIGKILL ? 1 : 0;
  }
  CHECK(kills >= 2);  // as above
  REQUIRE(run_to_end(killed, 2, nullptr, more) == 0);
  const Result expected = result_of(straight), result = result_of(killed);
  CHECK(result.model == expected.model);
  CHECK(result.optimizer == expected.optimizer);
  CHECK(result.records == expected.records);
  const std::string averages = "checkpoints/step_00008000/ema.safetensors";
  CHECK(read_text(killed / averages) == read_text(straight / averages));
  CHECK(read_text(killed / averages) != expected.model);
}

TEST_CASE("a run left alone gives the same bytes with two threads") {
  test::TempDir temp;
  REQUIRE(run_to_end(temp.path() / "run", 2) == 0);
  check_equal(result_of(temp.path() / "run"));
}

TEST_CASE("SIGTERM saves and exits 75, SIGINT 130, and the run goes on from that very step") {
  test::TempDir temp;
  const fs::path workdir = temp.path() / "run";
  struct Stop {
    int signal, code;
    const char* state;
    std::int64_t step;
  };
  for (const Stop& stop : {Stop{SIGTERM, 75, "preempted", kSteps / 5},
                           Stop{SIGINT, 130, "interrupted", 2 * kSteps / 5},
                           Stop{SIGUSR1, 75, "preempted", 3 * kSteps / 5}}) {
    WatchedRun run(workdir, arguments(workdir, 1), temp.path() / "out");
    REQUIRE(run.wait_for_step(stop.step));
    run.child.signal(stop.signal);
    REQUIRE(run.child.wait() == stop.code);
    CHECK(state_of(workdir) == stop.state);
    CHECK_THAT(run.child.output(), Contains("continue with --workdir"));
    const Value status = value_from_json(read_text(workdir / "status.json"), "status");
    const auto step = status.find("step")->as_integer();
    char name[32];
    std::snprintf(name, sizeof name, "step_%08d", static_cast<int>(step));
    CHECK(fs::exists(workdir / "checkpoints" / name));
  }
  REQUIRE(run_to_end(workdir, 1) == 0);
  check_equal(result_of(workdir));
  const Value status = value_from_json(read_text(workdir / "status.json"), "status");
  CHECK(status.find("attempt")->as_integer() == 4);
}

TEST_CASE("a second process in the same directory is refused") {
  test::TempDir temp;
  const fs::path workdir = temp.path() / "run";
  WatchedRun first(workdir, arguments(workdir, 1), temp.path() / "first");
  REQUIRE(first.wait_for_step(17));
  first.child.signal(SIGSTOP);  // so that it cannot end before the second has looked
  Child second(arguments(workdir, 1), temp.path() / "second");
  CHECK(second.wait() == 1);
  CHECK_THAT(second.output(), Contains("in use by process " + std::to_string(first.child.pid())));
}

TEST_CASE("a finished run is left as it is, evaluated on request, and can be prolonged") {
  test::TempDir temp;
  const fs::path workdir = temp.path() / "run";
  const std::vector<std::string> shorter = {"trainer.train_steps=500"};
  REQUIRE(run_to_end(workdir, 1, nullptr, shorter) == 0);
  const std::string before = read_text(workdir / "metrics.jsonl");
  std::string output;
  CHECK(run_to_end(workdir, 1, &output, shorter) == 0);
  CHECK_THAT(output, Contains("nothing to train"));
  CHECK(run_to_end(workdir, 1, &output, {"trainer.train_steps=500", "--mode", "eval"}) == 0);
  CHECK_THAT(output, Contains("eval step=500 validation_loss="));
  CHECK(read_text(workdir / "metrics.jsonl") == before);
  CHECK(run_to_end(workdir, 1, &output, {"trainer.train_steps=600"}) == 0);
  CHECK_THAT(output, Contains("trainer.train_steps: 500 -> 600"));
  CHECK(last_step(workdir) == 600);
}

TEST_CASE("an evaluation of a finished run leaves what training wrote into summary.json") {
  test::TempDir temp;
  const fs::path workdir = temp.path() / "run", file = workdir / "summary.json";
  REQUIRE(run_to_end(workdir, 1, nullptr, {"trainer.train_steps=500"}) == 0);
  const auto summary = [&] { return value_from_json(read_text(file), "summary.json"); };
  const Value trained = summary();
  REQUIRE(trained.find_path("train.training_loss") != nullptr);
  CHECK(trained.find("eval_step")->as_integer() == 500);

  const std::vector<std::string> evaluation = {"trainer.train_steps=500", "--mode", "eval",
                                               "task.eval_input.examples=32"};
  REQUIRE(run_to_end(workdir, 1, nullptr, evaluation) == 0);
  const Value evaluated = summary();
  CHECK_FALSE(*evaluated.find("eval") == *trained.find("eval"));
  for (const Value::Member& member : trained.members()) {
    INFO(member.key);
    if (member.key != "eval") CHECK(*evaluated.find(member.key) == member.value);
  }

  write_file(file, "{", Durability::cached);
  std::string output;
  CHECK(run_to_end(workdir, 1, &output, evaluation) == 0);
  CHECK_THAT(output, Contains("summary.json is not JSON"));
  CHECK(*summary().find("eval") == *evaluated.find("eval"));
}

TEST_CASE("another model in the directory of a run is refused with the difference") {
  test::TempDir temp;
  const fs::path workdir = temp.path() / "run";
  REQUIRE(run_to_end(workdir, 1, nullptr, {"trainer.train_steps=20"}) == 0);
  const std::string config = read_text(workdir / "config.toml");
  std::string output;
  CHECK(run_to_end(workdir, 1, &output, {"task.model.hidden_dims=[8]"}) == 2);
  CHECK_THAT(output, Contains("task.model.hidden_dims") && Contains("[16] -> [8]"));
  CHECK(read_text(workdir / "config.toml") == config);
}

TEST_CASE("the resolved config of a run gives the same run") {
  test::TempDir temp;
  const fs::path first = temp.path() / "first", second = temp.path() / "second";
  REQUIRE(run_to_end(first, 1, nullptr, {"trainer.train_steps=40"}) == 0);
  const auto again = test::shell(test::quoted(test::program().string()) + " run " +
                                 test::quoted((first / "config.toml").string()) + " --workdir " +
                                 test::quoted(second.string()));
  INFO(again.output);
  REQUIRE(again.exit_code == 0);
  CHECK(records(first) == records(second));
}

TEST_CASE("a full disk ends the run with its name, and the run goes on when there is room") {
  test::TempDir temp;
  const fs::path disk = temp.path() / "disk";
  fs::create_directory(disk);
  const bool mounted =
      ::mount("none", disk.c_str(), "tmpfs", 0, "size=600k") == 0;  // needs privileges
  const fs::path workdir = disk / "run";
  std::string output;
  if (mounted) {
    // Some checkpoints fit, then a file takes the rest.
    {
      WatchedRun run(workdir, arguments(workdir, 1), temp.path() / "out");
      REQUIRE(run.wait_for_step(kSteps / 4));
      run.child.signal(SIGTERM);
      REQUIRE(run.child.wait() == 75);
    }
    test::shell("dd if=/dev/zero bs=1k of=" + test::quoted((disk / "filler").string()));
    CHECK(run_to_end(workdir, 1, &output) == 1);
    CHECK_THAT(output, Contains("No space left on device"));
    fs::remove(disk / "filler");
  } else {
    std::string command = "ulimit -f 20; exec";
    for (const std::string& word : arguments(workdir, 1)) command += " " + test::quoted(word);
    const auto limited = test::shell(command);
    CHECK(limited.exit_code == 1);
    CHECK_THAT(limited.output, Contains("File too large"));
  }
  CHECK(run_to_end(workdir, 1) == 0);
  check_equal(result_of(workdir));
  if (mounted) ::umount2(disk.c_str(), MNT_DETACH);
}

TEST_CASE("an error keeps its exit code when nobody can read its message") {
  const auto result = test::shell(test::quoted(test::program().string()) + " runn 2>/dev/full");
  CHECK(result.exit_code == 2);
}

TEST_CASE("a directory that cannot be written is an error that names it") {
  std::string output;
  test::TempDir temp;
  fs::path workdir = "/proc/trivet-run";  // where nobody, not even root, makes directories
  Child child(arguments(workdir, 1), temp.path() / "out");
  CHECK(child.wait() == 1);
  CHECK_THAT(child.output(), Contains("/proc/trivet-run"));
}

TEST_CASE("summary.json has the figures that the benchmark reads") {
  test::TempDir temp;
  const fs::path workdir = temp.path() / "run";
  REQUIRE(run_to_end(workdir, 1, nullptr, {"trainer.train_steps=200"}) == 0);
  const Value summary = value_from_json(read_text(workdir / "summary.json"), "summary.json");
  for (const char* name :
       {"examples_per_second", "examples_per_cpu_second", "first_step_seconds", "peak_rss_bytes"}) {
    INFO(name);
    CHECK(summary.find(name)->as_number() > 0);
  }
  CHECK(summary.find("backend_allocations_per_step")->as_number() == 0);
  CHECK(summary.find("state")->as_text() == "done");
  CHECK(summary.find_path("eval.validation_loss")->as_number() > 0);
}
