// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: the records that a continued run keeps.
#include "rundir/metrics_log.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/shell.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

using namespace trivet;
namespace fs = std::filesystem;

namespace {

Logs one(const char* name, double value) {
  Logs logs;
  logs.set(name, value);
  return logs;
}

// Train records at 10, 20, ... `last` and an evaluation at every second of them.
void write_run(const fs::path& path, std::int64_t last) {
  MetricsLog log(path);
  log.truncate_after(-1);
  for (std::int64_t step = 10; step <= last; step += 10) {
    log.append(RecordKind::train, step, one("training_loss", 1.0 / static_cast<double>(step)), {});
    if (step % 20 == 0) log.append(RecordKind::eval, step, one("validation_loss", 0.5), {});
  }
}

std::string records(const fs::path& path) {
  std::istringstream text(read_text_file(path));
  std::string line, all;
  while (std::getline(text, line)) {
    const Value record = value_from_json(line, "line");
    all += record.find("kind")->as_string().substr(0, 1);
    all += std::to_string(record.find("step")->as_integer()) + " ";
  }
  return all;
}

}  // namespace

TEST_CASE("a record reads back with the same bits") {
  test::TempDir temp;
  const fs::path path = temp.path() / "metrics.jsonl";
  MetricsLog log(path);
  Logs values = one("training_loss", 0.1 + 0.2);
  values.set("gradient_norm", std::nan(""));
  log.append(RecordKind::train, 3, values, one("examples_per_second", 1e5));
  const Value record = value_from_json(read_text_file(path), "record");
  CHECK(record.find_path("values.training_loss")->as_float() == 0.1 + 0.2);
  CHECK(record.find_path("values.gradient_norm")->is_null());
  CHECK(record.find_path("rates.examples_per_second")->as_float() == 1e5);
  CHECK(record.find("time")->as_float() > 1.7e9);
}

TEST_CASE("a continued run removes records after its checkpoint") {
  test::TempDir temp;
  const fs::path path = temp.path() / "metrics.jsonl";
  write_run(path, 60);
  MetricsLog log(path);

  log.truncate_after(45);
  CHECK(records(path) == "t10 t20 e20 t30 t40 e40 ");
  CHECK(log.ends_with(RecordKind::eval, 40));
  CHECK(log.ends_with(RecordKind::train, 40));
  CHECK_FALSE(log.ends_with(RecordKind::eval, 45));

  log.truncate_after(30);
  CHECK(records(path) == "t10 t20 e20 t30 ");
  CHECK(log.ends_with(RecordKind::train, 30));
  CHECK_FALSE(log.ends_with(RecordKind::eval, 30));

  log.append(RecordKind::train, 40, one("training_loss", 1), {});
  CHECK(records(path) == "t10 t20 e20 t30 t40 ");
  CHECK_FALSE(log.ends_with(RecordKind::eval, 40));

  log.truncate_after(-1);
  CHECK(read_text_file(path).empty());
}

TEST_CASE("a line that a kill truncated at any byte is dropped") {
  test::TempDir temp;
  const fs::path path = temp.path() / "metrics.jsonl";
  write_run(path, 40);
  const std::string whole = read_text_file(path);
  const std::size_t last_line = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = last_line; size < whole.size(); ++size) {
    write_file(path, whole.substr(0, size), Durability::cached);
    MetricsLog log(path);
    log.truncate_after(40);
    REQUIRE(read_text_file(path) == whole.substr(0, last_line));
    REQUIRE_FALSE(log.ends_with(RecordKind::eval, 40));
  }
}

TEST_CASE("zeros that a power failure left at the end are dropped") {
  test::TempDir temp;
  const fs::path path = temp.path() / "metrics.jsonl";
  write_run(path, 20);
  const std::string whole = read_text_file(path);
  write_file(path, whole + std::string(5000, '\0') + "\n\n", Durability::cached);
  MetricsLog(path).truncate_after(1000);
  CHECK(read_text_file(path) == whole);
}

TEST_CASE("lines of other kinds are dropped by their step, and those without one stay") {
  const test::TempDir temp;
  const auto line = [](int step, const char* kind) {
    return "{\"step\":" + std::to_string(step) + ",\"kind\":\"" + kind + "\"}\n";
  };
  const std::string note = "{\"kind\":\"note\",\"text\":\"moved\"}\n";
  const std::string half = "{\"step\":20.5,\"kind\":\"note\"}\n";
  const std::string kept = note + line(10, "train") + line(10, "sweep") + line(20, "train");
  const fs::path path = temp.write("metrics.jsonl", kept + line(20, "sweep") + line(30, "train") +
                                                        note + line(30, "eval") + half +
                                                        line(40, "sweep") + line(40, "train"));
  MetricsLog log(path);
  log.truncate_after(100);
  CHECK(log.ends_with(RecordKind::train, 40));
  log.truncate_after(20);
  CHECK(read_text_file(path) == kept + line(20, "sweep") + note + half);
  CHECK(log.ends_with(RecordKind::train, 20));
  log.append(RecordKind::eval, 20, {}, {});
  CHECK(log.ends_with(RecordKind::eval, 20));
  CHECK(read_text_file(path).starts_with(kept + line(20, "sweep") + note + half + "{\"step\":20,"));
  // Nothing else is left in the directory.
  CHECK(std::distance(fs::directory_iterator(temp.path()), {}) == 1);

  log.truncate_after(-1);
  CHECK(read_text_file(path) == note + note + half);
  CHECK(log.last_step() == -1);
}

TEST_CASE("a damaged line in the middle does not affect later records") {
  const test::TempDir temp;
  const fs::path path = temp.path() / "metrics.jsonl";
  write_run(path, 20);
  const std::string whole = read_text_file(path);
  const std::size_t second = whole.find('\n') + 1;
  const std::string damaged = whole.substr(0, second) + "}{\n" + whole.substr(second);
  write_file(path, damaged + "}{\n", Durability::cached);
  MetricsLog log(path);
  log.truncate_after(20);
  CHECK(read_text_file(path) == damaged);
  CHECK(log.ends_with(RecordKind::eval, 20));
}

TEST_CASE("a file longer than the read buffer is truncated at the right line") {
  test::TempDir temp;
  const fs::path path = temp.path() / "metrics.jsonl";
  write_run(path, 20000);
  REQUIRE(fs::file_size(path) > 300000);
  MetricsLog(path).truncate_after(5000);
  const fs::path expected = temp.path() / "expected.jsonl";
  write_run(expected, 5000);
  CHECK(records(path) == records(expected));
}

TEST_CASE("names of any characters and whole, tiny and huge numbers read back unchanged") {
  const test::TempDir temp;
  const fs::path path = temp.path() / "metrics.jsonl";
  Logs values;
  for (const double number : {0.0, -0.0, 3.0, 1e22, 5e-324, -1.7976931348623157e308, 0.1}) {
    values.set("name \"" + std::to_string(number) + "\\\n\xc3\xa4", number);
  }
  MetricsLog(path).append(RecordKind::eval, 7, values, {});
  const Value record = value_from_json(read_text_file(path), "metrics.jsonl");
  CHECK(record.find("rates")->members().empty());
  REQUIRE(record.find("values")->members().size() == values.size());
  for (const auto& [name, number] : values) {
    INFO(name);
    const Value* read = record.find("values")->find(name);
    REQUIRE(read != nullptr);
    CHECK(read->is_float());
    CHECK(read->as_float() == number);
    CHECK(std::signbit(read->as_float()) == std::signbit(number));
  }
}
