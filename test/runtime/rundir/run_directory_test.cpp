// SPDX-License-Identifier: Apache-2.0
// Run directories, status.json, log.jsonl and the JSON form of state.
#include "rundir/run_directory.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/process_info.h"
#include "rundir/event_log.h"
#include "rundir/status_file.h"
#include "support/directory_watch.h"
#include "support/shell.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("state survives JSON with the same bits") {
  Value value = Value::table();
  value.set("third", 1.0 / 3.0);
  value.set("tiny", 5e-324);
  value.set("whole", 3.0);
  value.set("big", std::numeric_limits<std::int64_t>::min());
  value.set("inf", -std::numeric_limits<double>::infinity());
  value.set("nan", std::nan(""));
  value.set("text", "line\nbreak \"quoted\" \xc3\xa4");
  value.set("list", Value::array({1, true, Value(), Value::table({{"a", 0.1}})}));
  for (const JsonStyle style : {JsonStyle::line, JsonStyle::indented}) {
    const Value back = value_from_json(to_json(value, style), "test");
    CHECK(back == value);
    CHECK(back.find("whole")->is_float());
    CHECK(back.find("big")->is_integer());
  }
  CHECK(to_json(value).find('\n') == std::string::npos);
}

TEST_CASE("text that is not JSON, or has unlimited nesting, is an error that names its source") {
  CHECK_THROWS_WITH(value_from_json("{\"a\": ", "state.json"), Contains("state.json"));
  const std::string deep(100000, '[');
  CHECK_THROWS_AS(value_from_json(deep, "x"), Error);
  const std::string closed = std::string(500, '[') + std::string(500, ']');
  CHECK_THROWS_WITH(value_from_json(closed, "x"), Contains("deep"));
  CHECK_THROWS_AS(value_from_json("{\"$number\": \"many\"}", "x"), Error);
  CHECK_THROWS_WITH(value_from_json(std::string("{}\0{}", 5), "x"), Contains("byte 3 is zero"));
}

TEST_CASE("a JSON object with a duplicate name is rejected at any depth") {
  CHECK_THROWS_WITH(value_from_json(R"({"a": 1, "b": {"step": 1, "step": 2}})", "state.json"),
                    Contains("state.json: \"step\" is there twice"));
  const Value value = value_from_json(R"({"a": {"a": [{"a": 1}, {"a": 2}]}, "b": null})", "x");
  CHECK(to_json(value) == R"({"a":{"a":[{"a":1},{"a":2}]},"b":null})");
}

TEST_CASE("a new run has the highest number plus one") {
  test::TempDir temp;
  const fs::path root = temp.path() / "runs";
  CHECK(RunDirectory::next(root, "mnist").path() == root / "1-mnist");
  CHECK(RunDirectory::next(root, "a b/c").path() == root / "2-a-b-c");
  fs::create_directory(root / "41-old");
  fs::create_directory(root / "notes");
  fs::create_directory(root / "99");
  CHECK(RunDirectory::next(root, "").path() == root / "42-run");
}

TEST_CASE("processes that allocate runs at the same time get different numbers") {
  test::TempDir temp;
  const fs::path root = temp.path() / "runs";
  constexpr int kProcesses = 8, kEach = 20;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 0;
      try {
        for (int k = 0; k < kEach; ++k) RunDirectory::next(root, "p" + std::to_string(i));
      } catch (...) {
        status = 1;
      }
      ::_exit(status);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  std::set<int> numbers;
  for (const auto& entry : fs::directory_iterator(root)) {
    numbers.insert(std::stoi(entry.path().filename().string()));
  }
  CHECK(numbers.size() == kProcesses * kEach);
  CHECK(*numbers.rbegin() == kProcesses * kEach);
}

TEST_CASE("a second process is refused a run directory, with the name of the first") {
  test::TempDir temp;
  const RunDirectory held = RunDirectory::at(temp.path() / "run");
  CHECK_THROWS_WITH(RunDirectory::at(temp.path() / "run"),
                    Contains("in use by process " + std::to_string(::getpid())));
}

TEST_CASE("a run directory is free again however its process ended") {
  test::TempDir temp;
  const pid_t child = ::fork();
  if (child == 0) {
    const RunDirectory held = RunDirectory::at(temp.path() / "run");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK_NOTHROW(RunDirectory::at(temp.path() / "run"));
}

TEST_CASE("a directory is removed only by the run that created it") {
  test::TempDir temp;
  fs::create_directory(temp.path() / "mine");
  RunDirectory::at(temp.path() / "mine").remove_if_made();
  CHECK(fs::exists(temp.path() / "mine"));
  RunDirectory::at(temp.path() / "new").remove_if_made();
  CHECK_FALSE(fs::exists(temp.path() / "new"));
}

TEST_CASE("a run directory that was removed or replaced is found out") {
  test::TempDir temp;
  const fs::path path = temp.path() / "run";
  const RunDirectory run = RunDirectory::at(path);
  CHECK_NOTHROW(run.check_in_place());
  const auto is_refused = [&] {
    CHECK_THROWS_WITH(
        run.check_in_place(),
        Contains(path.string() + " was removed, renamed or replaced while the run worked in it"));
  };
  fs::rename(path, temp.path() / "away");
  is_refused();
  const RunDirectory other = RunDirectory::at(path);
  is_refused();
  CHECK_NOTHROW(other.check_in_place());
  fs::remove(path / ".lock");
  CHECK_THROWS_AS(other.check_in_place(), RunError);
}

TEST_CASE("a directory is removed while other processes make and remove theirs in it") {
  const bool removes = GENERATE(false, true);
  CAPTURE(removes);
  test::TempDir temp;
  for (int run = 0; run < 50; ++run) {
    RunDirectory directory = RunDirectory::at(temp.path() / "new");
    std::atomic<bool> making{false};
    std::thread other([&] {
      std::error_code failure;
      for (int i = 0; i < 40 && !failure; ++i) {
        const fs::path own = temp.path() / "new" / std::to_string(i);
        fs::create_directory(own, failure);
        std::error_code gone;
        if (removes) fs::remove(own, gone);
        making = true;
      }
    });
    while (!making) {
      std::this_thread::yield();
    }
    directory.remove_if_made();
    other.join();
    CHECK_FALSE(fs::exists(temp.path() / "new"));
  }
}

TEST_CASE("a file instead of a run directory is refused") {
  test::TempDir temp;
  write_file(temp.path() / "file", "x", Durability::cached);
  CHECK_THROWS_WITH(RunDirectory::at(temp.path() / "file"), Contains("is not a directory"));
}

TEST_CASE("the hint of an error matches the failed operation") {
  const auto hint = [](std::string_view action, int number) {
    try {
      throw_system_error(action, "somewhere", number);
    } catch (const FileError& failure) {
      return failure.hint();
    }
  };
  for (const int refused : {EACCES, EPERM, EROFS}) {
    CHECK_THAT(hint("read", refused), Contains("the right to read it") && !Contains("write"));
    CHECK_THAT(hint("write", refused), Contains("a directory you may write to with --workdir"));
  }
  CHECK_THAT(hint("read", ESTALE), Contains("try again"));
  CHECK(hint("write", EIO).empty());
}

TEST_CASE("an unreadable file is not reported as unwritable", "[nosan]") {
  test::TempDir temp;
  const fs::path file = temp.write("a", "text");
  fs::permissions(file, fs::perms::none);
  const bool is_root = ::geteuid() == 0;  // root may read all files
  constexpr uid_t kNobody = 65534;
  if (is_root) REQUIRE(::seteuid(kNobody) == 0);
  CHECK_THROWS_WITH(read_text_file(file), Contains("cannot read"));
  if (is_root) REQUIRE(::seteuid(0) == 0);
}

TEST_CASE("a failed replacement leaves the old file and no temporary one") {
  test::TempDir temp;
  write_file(temp.path() / "a", "old", Durability::cached);
  fs::create_directories(temp.path() / "full");
  CHECK_THROWS_WITH(write_file("/dev/full", "x", Durability::cached),
                    Contains("/dev/full: No space left on device"));
  CHECK_THROWS_AS(replace_file(temp.path() / "full", "x", Durability::cached), RunError);
  replace_file(temp.path() / "a", "new", Durability::synced);
  CHECK(read_text_file(temp.path() / "a") == "new");
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(temp.path())) ++entries;
  CHECK(entries == 2);
}

TEST_CASE("status.json has state, step and process, and counts attempts") {
  test::TempDir temp;
  const fs::path path = temp.path() / "status.json";
  {
    StatusFile status(path, "train", 100);
    status.set_step(7);
    status.set_state("running");
    const Value read = value_from_json(read_text_file(path), "status");
    CHECK(read.find("state")->as_string() == "running");
    CHECK(read.find("step")->as_integer() == 7);
    CHECK(read.find("target")->as_integer() == 100);
    CHECK(read.find("pid")->as_integer() == ::getpid());
    CHECK(read.find("boot_id")->as_string() == boot_id());
    CHECK(read.find("attempt")->as_integer() == 1);
  }
  StatusFile second(path, "train", 100);
  CHECK(second.attempt() == 2);
  write_file(path, "{broken", Durability::cached);
  CHECK(StatusFile(path, "train", 100).attempt() == 1);
}

TEST_CASE("the heartbeat repeats status.json with the step of the moment", "[tsan]") {
  test::TempDir temp;
  const fs::path path = temp.path() / "status.json";
  StatusFile status(path, "train", 100);
  status.set_state("running");
  status.set_step(55);
  // The test program's own time limit ends the wait if no heartbeat ever comes.
  test::DirectoryWatch watch(temp.path());
  status.start_heartbeat(0.001);
  for (fs::path changed; changed != path;) REQUIRE(watch.wait(-1, &changed));
  CHECK(value_from_json(read_text_file(path), "status").find("step")->as_integer() == 55);
  CHECK(value_from_json(read_text_file(path), "status").find("state")->as_string() == "running");
}

TEST_CASE("a heartbeat that cannot be written is reported with its reason", "[tsan]") {
  test::TempDir temp;
  const fs::path path = temp.path() / "status.json";
  StatusFile status(path, "train", 1);
  fs::create_directory(path);  // a file cannot replace a directory
  CHECK_THROWS_AS(status.set_state("running"), RunError);
  CHECK(status.take_heartbeat_error().empty());
  test::DirectoryWatch watch(temp.path());
  status.start_heartbeat(0.001);
  // A heartbeat holds the lock from its first file to its report, so waiting for one file is
  // enough.
  REQUIRE(watch.wait());
  CHECK_THAT(status.take_heartbeat_error(), Contains("status.json: Is a directory"));
}

TEST_CASE("log.jsonl gets one line per event from all processes of a run") {
  test::TempDir temp;
  const fs::path path = temp.path() / "log.jsonl";
  EventLog(path).write("info", "checkpoint", Value::table({{"step", 4}}));
  EventLog(path).write("error", "failed", Value::table({{"message", "two\nlines"}}));
  const std::string text = read_text_file(path);
  const std::size_t line_end = text.find('\n');
  const Value first = value_from_json(text.substr(0, line_end), "first");
  const Value second = value_from_json(text.substr(line_end + 1), "second");
  CHECK(first.find("event")->as_string() == "checkpoint");
  CHECK(first.find("step")->as_integer() == 4);
  CHECK(second.find("level")->as_string() == "error");
  CHECK(second.find("message")->as_string() == "two\nlines");
}

TEST_CASE("an incomplete line of a killed process is removed, and earlier lines stay") {
  test::TempDir temp;
  const fs::path path = temp.path() / "log.jsonl";
  const std::string start = "{\"event\":\"start\"}\n", longer(5000, 'x');
  for (const std::string& whole : {std::string(), start, longer + "\n" + longer + "\n"}) {
    for (const std::size_t rest : {0, 1, 4095, 4096, 4097, 20000}) {
      INFO(whole.size() << " bytes, then " << rest);
      write_file(path, whole + std::string(rest, 'z'), Durability::cached);
      const EventLog log(path);
      CHECK(read_text_file(path) == whole);
    }
  }
}

TEST_CASE("a line that does not fit on the disk leaves no part of it") {
  test::TempDir temp;
  const fs::path path = temp.path() / "log.jsonl";
  EventLog log(path);
  log.write("info", "start", Value::table());
  const std::string before = read_text_file(path);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  rlimit low = limit;
  low.rlim_cur = before.size() + 20;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &low) == 0);
  std::string message;
  try {
    log.write("info", "checkpoint", Value::table({{"step", 4}}));
  } catch (const RunError& failure) {
    message = failure.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, SIG_DFL);
  CHECK_THAT(message, Contains("log.jsonl: File too large"));
  CHECK(read_text_file(path) == before);
}
