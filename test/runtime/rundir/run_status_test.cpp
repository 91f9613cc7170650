// SPDX-License-Identifier: Apache-2.0
// Reading run directories: damaged, huge and foreign files, and whether a run is alive.
#include "rundir/run_status.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "rundir/metrics_log.h"
#include "rundir/metrics_reader.h"
#include "rundir/status_file.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

using namespace trivet;
namespace fs = std::filesystem;

namespace {

bool everything(RecordKind, std::string_view) {
  return true;
}

std::string line(std::int64_t step, const std::string& kind, const std::string& values) {
  return "{\"step\":" + std::to_string(step) + ",\"kind\":\"" + kind + "\",\"values\":{" + values +
         "},\"rates\":{}}\n";
}

const std::string kGood = line(10, "train", "\"loss\":0.5");

MetricsContent content_of(const std::string& text) {
  test::TempDir temp;
  return read_metrics(temp.write("metrics.jsonl", text), everything);
}

}  // namespace

TEST_CASE("metrics read back unchanged, with separate kinds and rates") {
  test::TempDir temp;
  const fs::path path = temp / "metrics.jsonl";
  {
    MetricsLog log(path);
    Logs values, rates;
    values.set("loss", 0.1 + 0.2);
    values.set("norm", std::nan(""));
    rates.set("steps_per_second", 40);
    log.append(RecordKind::train, 10, values, rates);
    log.append(RecordKind::eval, 10, values, {});
    values.set("loss", 0.25);
    log.append(RecordKind::train, 20, values, rates);
  }
  const MetricsContent content = read_metrics(path, everything);
  CHECK(content.records == 3);
  CHECK(content.unreadable == 0);
  REQUIRE(content.series.size() == 5);
  CHECK(content.series[0].kind == RecordKind::train);
  CHECK(content.series[0].name == "loss");
  REQUIRE(content.series[0].points.size() == 2);
  CHECK(content.series[0].points[0].value == 0.1 + 0.2);
  CHECK(content.series[0].points[1].step == 20);
  CHECK(std::isnan(content.series[1].points[0].value));
  CHECK(content.series[2].name == "steps_per_second");
  CHECK(content.series[3].kind == RecordKind::eval);

  const auto only_loss = [](RecordKind kind, std::string_view name) {
    return kind == RecordKind::train && name == "loss";
  };
  const MetricsContent some = read_metrics(path, only_loss);
  CHECK(some.series.size() == 5);  // the names are still known
  CHECK(some.series[0].points.size() == 2);
  CHECK(some.series[3].points.empty());

  const LastRecords last = last_records(path);
  REQUIRE(last.train);
  REQUIRE(last.eval);
  CHECK(last.train->step == 20);
  CHECK(*last.train->values.find("loss") == 0.25);
  CHECK(*last.train->rates.find("steps_per_second") == 40);
  CHECK(last.eval->step == 10);
}

TEST_CASE("a line truncated at any byte affects only that line") {
  for (std::size_t size = 0; size < kGood.size(); ++size) {
    const MetricsContent content = content_of(kGood + kGood.substr(0, size));
    CHECK(content.records == 1);
    CHECK(content.unreadable == 0);  // the line may be in the middle of a write
  }
  test::TempDir temp;
  const fs::path path = temp.write("metrics.jsonl", kGood + kGood.substr(0, 20));
  CHECK(last_records(path).train->step == 10);
}

TEST_CASE("complete lines that are not records are counted and skipped") {
  const std::string bad = GENERATE(
      as<std::string>(), "", "{", "null", "[1]", "\"step\"", "{\"step\":1}", "{\"kind\":\"train\"}",
      "{\"step\":-1,\"kind\":\"train\"}", "{\"step\":1.5,\"kind\":\"train\"}",
      "{\"step\":99999999999999999999,\"kind\":\"train\"}",
      "{\"step\":18446744073709551615,"
      "\"kind\":\"train\"}",
      "{\"step\":1,\"kind\":\"later\"}", "{\"step\":1,\"kind\":2}",
      "{\"step\":1,\"kind\":\"train\",\"values\":{\"a\xff\":1}}", std::string("\0\0", 2),
      std::string(100'000, '['), std::string(17 << 20, 'x'));
  const MetricsContent content = content_of(kGood + bad + "\n" + kGood);
  CHECK(content.records == 2);
  CHECK(content.unreadable == 1);
}

TEST_CASE("members of a later version do not hide the others") {
  const MetricsContent content = content_of(
      "{\"version\":9,\"step\":1,\"kind\":\"train\",\"values\":{\"loss\":1,\"table\":{\"a\":1},"
      "\"text\":\"x\"},\"more\":[]}\n{\"step\":2,\"kind\":\"eval\",\"values\":7}\n");
  CHECK(content.records == 2);
  REQUIRE(content.series.size() == 1);
  CHECK(content.series[0].name == "loss");
}

TEST_CASE("a huge line ends a search from the end with an error, not by exhausting memory",
          "[slow]") {
  test::TempDir temp;
  const fs::path path = temp.write("metrics.jsonl", kGood + std::string(40 << 20, 'x'));
  CHECK_THROWS_WITH(last_records(path), Catch::Contains("more than 16 MiB"));
  CHECK_FALSE(last_records(temp / "missing").train);
}

TEST_CASE("a search from the end stops at the limit") {
  test::TempDir temp;
  std::string text = line(5, "eval", "\"accuracy\":1");
  for (int i = 0; i < 1000; ++i) text += kGood;
  const fs::path path = temp.write("metrics.jsonl", text);
  CHECK(last_records(path).eval);
  CHECK_FALSE(last_records(path, 1000).eval);
  CHECK(last_records(path, 1000).train);
}

TEST_CASE("a run is lost if its process is gone, and silent if it writes nothing") {
  const SignOfLife well{.age = 3, .same_host = true, .same_boot = true, .has_process = true};
  CHECK(judged_state("running", well) == "running");
  SignOfLife sign = well;
  sign.has_process = false;
  CHECK(judged_state("running", sign) == "lost");
  CHECK(judged_state("evaluating", sign) == "lost");
  sign = well;
  sign.same_boot = false;  // another process has this id
  CHECK(judged_state("running", sign) == "lost");
  sign = well;
  sign.age = 31;
  CHECK(judged_state("running", sign) == "silent");
  CHECK(judged_state("running", {.age = 3}) == "running");  // of another machine
  CHECK(judged_state("running", {.age = 31}) == "silent");
  CHECK(judged_state("running", {.age = -1e6}) == "running");  // a clock that went back
  // Ended runs need no sign of life, and unknown states are not changed.
  for (const char* end : {"done", "failed", "interrupted", "preempted", "hibernating"}) {
    CHECK(judged_state(end, {.age = 1e6}) == end);
  }
}

TEST_CASE("a status file of this process reads as its state") {
  test::TempDir temp;
  StatusFile status(temp / "status.json", "train", 100);
  status.set_step(40);
  status.set_state("running");
  const RunStatus info = run_info(temp.path());
  CHECK(info.state == "running");
  CHECK(info.step == 40);
  CHECK(info.target == 100);
  CHECK(info.attempt == 1);
  CHECK(info.pid == ::getpid());
  CHECK(info.mode == "train");
  CHECK(info.problem.empty());
  CHECK_FALSE(info.last.train);
}

TEST_CASE("a status that is damaged, foreign or of a later version never fails") {
  const std::string text =
      GENERATE(as<std::string>(), "", "{", "[]", "7", "{\"state\":7,\"step\":\"x\",\"time\":[]}",
               "{\"state\":\"\xff\"}", std::string(2 << 20, ' '), std::string(100'000, '['),
               "{\"state\":\"running\",\"pid\":99999999999,\"host\":\"\",\"time\":\"soon\"}");
  test::TempDir temp;
  temp.write("status.json", text);
  const RunStatus info = run_info(temp.path());
  CHECK((info.state == "unknown" || info.state == "running" || info.state == "silent"));
  CHECK(info.step == -1);
}

TEST_CASE("a later version's state is shown unchanged") {
  test::TempDir temp;
  temp.write("status.json", "{\"state\":\"hibernating\",\"step\":5,\"since\":{\"a\":1}}");
  const RunStatus info = run_info(temp.path());
  CHECK(info.state == "hibernating");
  CHECK(info.step == 5);
}

TEST_CASE("runs are found below a directory in natural order, but not inside parts of runs") {
  test::TempDir temp;
  for (const char* run : {"10-b", "2-a", "exp/1/unit", "2-a/continuous_eval", "2-a/checkpoints/x",
                          "2-a/events/y", ".hidden", "a/b/c/d/too_deep"}) {
    temp.write(std::string(run) + "/status.json", "{}");
  }
  fs::create_directories(temp / "no_run");
  fs::create_directory_symlink(temp.path(), temp / "loop");
  std::vector<std::string> names;
  for (const fs::path& run : find_runs(temp.path())) {
    names.push_back(run.lexically_relative(temp.path()).string());
  }
  CHECK(names == std::vector<std::string>{"2-a", "2-a/continuous_eval", "10-b", "exp/1/unit"});
  CHECK_THROWS_AS(find_runs(temp / "missing"), RunError);
}

TEST_CASE("natural order counts digits as numbers of any length") {
  CHECK(natural_less("run-2", "run-10"));
  CHECK_FALSE(natural_less("run-10", "run-2"));
  CHECK(natural_less("a9", "a10b"));
  CHECK(natural_less("99999999999999999999998", "99999999999999999999999"));
  CHECK_FALSE(natural_less("a", "a"));
  CHECK(natural_less("a", "a1"));
}
