// SPDX-License-Identifier: Apache-2.0
// The index of experiments always matches the files, after any change or damage.
#include "launch/index/experiment_index.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/database.h"
#include "base/file_stamp.h"
#include "support/experiment_files.h"
#include "support/shell.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

using namespace trivet;
using Catch::Contains;
using launch::JobState;
using test::append;
namespace fs = std::filesystem;

namespace {

// One experiment of 20 units, half of them ended and with a run.
struct Made {
  Made() {
    files.add(1, 20);
    for (std::int64_t wid = 1; wid <= 10; ++wid) {
      files.add_event(1, wid, "completed");
      files.add_run(1, wid, 0.5);
    }
  }
  fs::path index() const { return files.root() / ".trivet/index.sqlite"; }

  test::TempDir folder;
  test::ExperimentFiles files{folder / "root"};
};

// All tables without the states of files.
std::vector<std::string> rows_of(const fs::path& index) {
  Database database(index, Database::Access::read);
  std::vector<std::string> rows;
  for (const char* sql :
       {"SELECT xid, directory, facts, facts_problem, lines_problem, bad_units, bad_events FROM "
        "experiments",
        "SELECT xid, wid, directory, sweep, state, changed, run_problem, reported, mode, host, "
        "boot_id, message, step, target, attempt, pid, started, time, train_step, eval_step FROM "
        "units",
        "SELECT xid, wid, position, name, directory, retries, state, attempt, failures, exit_code, "
        "signal, time, started, host, detail FROM jobs",
        "SELECT name, kind, part, xid, wid, step, value, low, low_step, high, high_step FROM "
        "numbers"}) {
    Statement select(database, sql);
    while (select.step()) {
      std::string row;
      for (int i = 0; i < select.columns(); ++i) row += select.text(i) + "|";
      rows.push_back(row);
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// The data of the listings as one string.
std::string told_by(ExperimentIndex& index) {
  std::string told;
  for (const ExperimentView& view : index.experiments()) {
    told += to_json(view_value(index.experiment(view.xid))) + "\n";
  }
  for (const UnitRun& unit : index.units()) {
    told += std::to_string(unit.id.second) + " " + std::string(enum_name(unit.state)) + " " +
            std::to_string(unit.run.step) + "\n";
  }
  for (const auto& [unit, value] : index.numbers("accuracy", {}, WhichNumber::high)) {
    told += std::to_string(unit.second) + " " + std::to_string(value) + "\n";
  }
  return told;
}

// Waits until an index that reads the files trusts their times.
void wait_until_trusted(const fs::path& root) {
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const FileStamp mark = stamp_of(entry.path().string());
    while (!(mark.settled() == mark)) std::this_thread::yield();
  }
}

std::string told_of(const fs::path& root) {
  ExperimentIndex index(root);
  return told_by(index);
}

}  // namespace

TEST_CASE("an updated index has the rows of a rebuilt one") {
  const Made made;
  { ExperimentIndex(made.files.root()).units(); }
  made.files.add_units(1, 21, 25);
  for (std::int64_t wid = 9; wid <= 22; ++wid) made.files.add_event(1, wid, "failed");
  made.files.add_run(1, 21, 0.25);
  append(made.files.unit(1, 3) / "metrics.jsonl",
         "{\"step\":60,\"kind\":\"eval\",\"values\":{\"accuracy\":0.75,\"new\":null}}\n");
  append(made.files.unit(1, 3) / "status.json", " ");
  made.files.add(2, 3);
  { ExperimentIndex(made.files.root()).units(); }
  const std::vector<std::string> kept = rows_of(made.index());
  CHECK(kept.size() > 25 + 25 + 60);
  ExperimentIndex(made.files.root()).rebuild();
  CHECK(rows_of(made.index()) == kept);
  fs::remove(made.index());
  { ExperimentIndex(made.files.root()).units(); }
  CHECK(rows_of(made.index()) == kept);
}

TEST_CASE("the results of units are read from their files") {
  const Made made;
  ExperimentIndex index(made.files.root());
  const std::vector<UnitRun> units = index.units(1);
  REQUIRE(units.size() == 20);
  CHECK(units[4].state == JobState::completed);
  CHECK(units[4].run.step == 40);
  CHECK(units[4].run.state == "done");
  CHECK(value_from_json(units[4].sweep, "").find("n")->as_integer() == 5);
  CHECK(units[14].state == JobState::pending);
  CHECK(units[14].run.step == -1);
  const UnitId fifth{1, 5};
  CHECK(number_of(index.numbers("accuracy", {}, WhichNumber::high), fifth) == 0.5);
  CHECK(number_of(index.numbers("accuracy", {}, WhichNumber::last), fifth) == 0.25);
  CHECK(number_of(index.numbers("validation_loss", {}, WhichNumber::low), fifth) == 1);
  CHECK(number_of(index.numbers("training_loss", {}, WhichNumber::last), fifth) == 0.025);
  CHECK(index.numbers("training_loss", RecordKind::eval, WhichNumber::last).empty());
  CHECK(index.number_names(RecordKind::eval) ==
        std::vector<std::string>{"accuracy", "validation_loss"});
  CHECK(index.number_names(RecordKind::train, 2).empty());
  const RunNumbers numbers = index.all_numbers(fifth).at(fifth);
  CHECK(numbers.last.eval->step == 40);
  CHECK(*numbers.last.train->rates.find("steps_per_second") == 50);
  REQUIRE(numbers.ranges.size() == 2);
  CHECK(numbers.ranges[0].high_step == 20);
}

TEST_CASE("only files that have changed are read again") {
  const Made made;
  { ExperimentIndex(made.files.root()).units(); }
  // Marks of recently written files are not trusted. These marks are trusted, after a change in the
  // tables that the files lack.
  const auto settle = [&] {
    Database database(made.index());
    for (std::int64_t wid = 1; wid <= 10; ++wid) {
      Statement row(database,
                    "UPDATE units SET step = 7, status_mark = ?, metrics_mark = ? WHERE wid = ?");
      const std::string status = (made.files.unit(1, wid) / "status.json").string();
      AppendedLines metrics(made.files.unit(1, wid) / "metrics.jsonl", {});
      metrics.read([](std::string_view) {});
      LineStamp mark = metrics.mark();
      mark.file = stamp_of((made.files.unit(1, wid) / "metrics.jsonl").string());
      row.bind(1, LineStamp{stamp_of(status), 0, {}}.text()).bind(2, mark.text()).bind(3, wid);
      row.run();
    }
  };
  settle();
  append(made.files.unit(1, 2) / "status.json", " ");
  ExperimentIndex index(made.files.root());
  const std::vector<UnitRun> units = index.units();
  CHECK(units[0].run.step == 7);
  CHECK(units[1].run.step == 40);
  CHECK(units[9].run.step == 7);
}

TEST_CASE("records that were truncated and rewritten are read again") {
  const Made made;
  ExperimentIndex index(made.files.root());
  const UnitId first{1, 1};
  index.units();
  CHECK(number_of(index.numbers("accuracy", {}, WhichNumber::high), first) == 0.5);
  const fs::path metrics = made.files.unit(1, 1) / "metrics.jsonl";
  // Like a run that goes back to its checkpoint of step 10 and then writes more lines than before.
  append(made.files.unit(1, 1) / "status.json", "\n");
  fs::resize_file(metrics, fs::file_size(metrics) / 4);
  for (int step = 20; step <= 90; step += 10) {
    append(metrics, "\n{\"step\":" + std::to_string(step) +
                        ",\"kind\":\"eval\",\"values\":{\"accuracy\":0.375}}\n");
  }
  index.units();
  CHECK(number_of(index.numbers("accuracy", {}, WhichNumber::high), first) == 0.375);
  // Units that are no longer in the record are removed, with their metrics.
  fs::resize_file(made.files.directory(1) / "units.jsonl", 0);
  made.files.add_units(1, 1, 2);
  CHECK(index.units().size() == 2);
  CHECK(index.numbers("accuracy", {}, WhichNumber::high).size() == 2);
  fs::remove_all(made.files.directory(1));
  CHECK(index.experiments().empty());
  CHECK(index.units().empty());
}

TEST_CASE("an unusable index costs time but gives the same answer") {
  const Made made;
  wait_until_trusted(made.files.root());
  const std::string told = told_of(made.files.root());
  CHECK_THAT(told, Contains("\"completed\":10,") || Contains("\"completed\":10}"));
  REQUIRE(fs::is_regular_file(made.index()));
  const auto overwrite = [&](std::uint64_t at, const std::string& bytes) {
    std::fstream file(made.index(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << bytes;
  };
  const auto replace = [&](const std::string& text) {
    fs::remove(made.index());
    append(made.index(), text);
  };
  const auto check_same = [&] {
    CHECK(told_of(made.files.root()) == told);
    // The next process finds a complete index.
    CHECK_FALSE(rows_of(made.index()).empty());
    CHECK(told_of(made.files.root()) == told);
  };
  SECTION("missing") {
    fs::remove(made.index());
    check_same();
  }
  SECTION("empty") {
    replace("");
    check_same();
  }
  SECTION("something else") {
    replace(std::string(5000, 'x'));
    check_same();
  }
  SECTION("cut off") {
    fs::resize_file(made.index(), fs::file_size(made.index()) / 2);
    check_same();
  }
  SECTION("damaged within") {
    for (std::uint64_t at = 4096; at < fs::file_size(made.index()); at += 1024) {
      overwrite(at, std::string(512, '\x7f'));
    }
    check_same();
  }
  SECTION("of an older version") {
    Database(made.index()).execute("PRAGMA user_version = 0");
    check_same();
  }
  SECTION("of a version to come") {
    Database(made.index())
        .execute("DROP TABLE jobs; CREATE TABLE jobs (what TEXT); PRAGMA user_version = 99");
    check_same();
  }
  SECTION("without a table") {
    Database(made.index()).execute("DROP TABLE numbers");
    check_same();
  }
}

TEST_CASE("a locked or read-only index is replaced by one in memory") {
  const Made made;
  const std::string told = told_of(made.files.root());
  made.files.add_event(1, 20, "completed");
  SECTION("locked by a process that hangs") {
    Database other(made.index());
    other.execute("BEGIN EXCLUSIVE");
    const std::string now = told_of(made.files.root());
    CHECK(now != told);
    CHECK_THAT(now, Contains("\"completed\":11"));
    CHECK_THROWS_WITH(ExperimentIndex(made.files.root()).rebuild(), Contains("locked"));
  }
  SECTION("a directory") {
    fs::remove(made.index());
    fs::create_directory(made.index());
    CHECK_THAT(told_of(made.files.root()), Contains("\"completed\":11"));
    CHECK_THROWS_WITH(ExperimentIndex(made.files.root()).rebuild(), Contains("cannot be written"));
  }
}

TEST_CASE("without experiments no index is created") {
  const test::TempDir folder;
  ExperimentIndex index(folder / "nothing");
  CHECK(index.experiments().empty());
  CHECK(index.units().empty());
  CHECK_THROWS_AS(index.experiment(1), UsageError);
  CHECK_FALSE(fs::exists(folder / "nothing"));
  CHECK(ExperimentIndex(folder.path()).experiments().empty());
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("only its owner may read the index") {
  const Made made;
  ExperimentIndex(made.files.root()).experiments();
  CHECK((fs::status(made.index()).permissions() & fs::perms(077)) == fs::perms::none);
}

TEST_CASE(
    "damaged lines are reported and skipped, and lines truncated by a kill are not reported") {
  const Made made;
  const fs::path units = made.files.directory(1) / "units.jsonl";
  const fs::path events = made.files.directory(1) / "events.jsonl";
  append(events, "{\"wid\":11,\"job\":\"ma\n");
  ExperimentIndex index(made.files.root());
  CHECK(index.experiment(1).diagnostics.empty());
  append(events, std::string(3, '\0') + "\n{\"wid\":11,\"job\":\"other\",\"state\":\"failed\"}\n");
  append(units, "[1, 2]\n\xff\xfe\n{\"wid\":3}\n");
  made.files.add_event(1, 11, "completed");
  const ExperimentView view = index.experiment(1);
  CHECK(view.units.size() == 20);
  CHECK(view.units[10].state == JobState::completed);
  REQUIRE(view.diagnostics.size() == 2);
  CHECK_THAT(view.diagnostics[0], Contains("units.jsonl: 3 lines are not a record"));
  CHECK_THAT(view.diagnostics[1], Contains("events.jsonl: 2 lines are not an event"));
}
