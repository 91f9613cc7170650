// SPDX-License-Identifier: Apache-2.0
// Records by step that a resumed run continues.
#include "trivet/train/run_log.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/shell.h"
#include "trivet/error.h"

namespace run_log_test {

using namespace trivet;
using test::TempDir;
namespace fs = std::filesystem;

namespace {

Value named(const char* name) {
  return Value::table({{"name", name}});
}

}  // namespace

TEST_CASE("a log of a resumed run has each step once") {
  const TempDir temp;
  const std::string first = R"({"step":10,"name":"a"})"
                            "\n";
  const std::string second = R"({"step":20,"name":"b"})"
                             "\n";
  {
    RunLog log(temp.path(), "log.jsonl", RunLog::Of::training);
    CHECK_FALSE(fs::exists(temp / "log.jsonl"));
    log.append(10, named("a"));
    log.append(20, named("b"));
    log.append(30, named("c"));
  }
  // Another process, after one that was killed while writing a line.
  std::ofstream(temp / "log.jsonl", std::ios::app) << "{\"step\":4";
  RunLog log(temp.path(), "log.jsonl", RunLog::Of::training);
  cut_run_records(temp.path(), {.step = 20});
  CHECK(test::read_file(temp / "log.jsonl") == first + second);
  log.append(30, named("d"));
  log.sync();
  CHECK(test::read_file(temp / "log.jsonl") == first + second +
                                                   R"({"step":30,"name":"d"})"
                                                   "\n");
  cut_run_records(temp.path(), {});
  CHECK(test::read_file(temp / "log.jsonl").empty());
}

TEST_CASE("a log of evaluations drops one that was interrupted") {
  const TempDir temp;
  RunLog log(temp.path(), "log.jsonl", RunLog::Of::evaluation);
  log.append(10, named("a"));
  log.append(20, named("b"));
  const std::string both = test::read_file(temp / "log.jsonl");
  cut_run_records(temp.path(), {.step = 20, .evaluated = true});
  CHECK(test::read_file(temp / "log.jsonl") == both);
  cut_run_records(temp.path(), {.step = 20, .evaluated = false});
  CHECK(test::read_file(temp / "log.jsonl") == R"({"step":10,"name":"a"})"
                                               "\n");
}

TEST_CASE("lines of others stay, and nothing else is rewritten") {
  const TempDir temp;
  const std::string note = "{\"note\":1}\n", broken = "not JSON\n";
  temp.write("log.jsonl", R"({"step":1})"
                          "\n" +
                              note +
                              R"({"step":2})"
                              "\n" +
                              broken);
  RunLog log(temp.path(), "log.jsonl", RunLog::Of::training);
  cut_run_records(temp.path(), {.step = 2});
  CHECK(test::read_file(temp / "log.jsonl") == R"({"step":1})"
                                               "\n" +
                                                   note +
                                                   R"({"step":2})"
                                                   "\n" +
                                                   broken);
  cut_run_records(temp.path(), {.step = 1});
  CHECK(test::read_file(temp / "log.jsonl") == R"({"step":1})"
                                               "\n" +
                                                   note + broken);
}

TEST_CASE("the records of a run are in its directory and below it") {
  const TempDir temp;
  fs::create_directories(temp / "run" / "task");
  fs::create_directories(temp / "run2");
  RunLog own(temp / "run", "log.jsonl", RunLog::Of::training);
  RunLog below(temp / "run" / "task", "log.jsonl", RunLog::Of::training);
  RunLog other(temp / "run2", "log.jsonl", RunLog::Of::training);
  for (RunLog* const log : {&own, &below, &other}) log->append(5, named("a"));
  cut_run_records(temp / "run" / "", {.step = 1});
  CHECK(fs::file_size(temp / "run" / "log.jsonl") == 0);
  CHECK(fs::file_size(temp / "run" / "task" / "log.jsonl") == 0);
  CHECK(fs::file_size(temp / "run2" / "log.jsonl") > 0);
}

TEST_CASE("a log that cannot be written is an error with the reason") {
  const TempDir temp;
  RunLog log(temp / "missing", "log.jsonl", RunLog::Of::training);
  CHECK_THROWS_WITH(log.append(1, named("a")), Catch::Contains("No such file or directory"));
}

}  // namespace run_log_test
