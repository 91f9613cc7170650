// SPDX-License-Identifier: Apache-2.0
// Actions of the SDK: conditions, boundaries, the best metric's record, exported directories.
#include "trivet/action.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/shell.h"
#include "trivet/error.h"

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

class Note final : public Action {
 public:
  explicit Note(std::string& text) : text_(text) {}
  void run(const ActionEvent& event) override { text_ += std::to_string(event.step) + " "; }

 private:
  std::string& text_;
};

class Counter final : public Action {
 public:
  void run(const ActionEvent&) override { ++count_; }
  Value save_state() const override { return count_; }
  void restore_state(const Value& state) override { count_ = state.as_integer(); }

 private:
  std::int64_t count_ = 0;
};

Actions one(std::string& text) {
  Actions actions;
  actions.push_back(std::make_unique<Note>(text));
  return actions;
}

Logs loss(double value) {
  Logs logs;
  logs.set("loss", value);
  return logs;
}

std::vector<std::string> names(const std::vector<fs::path>& paths) {
  std::vector<std::string> found;
  for (const fs::path& path : paths) found.push_back(path.filename().string());
  return found;
}

}  // namespace

TEST_CASE("a periodic action runs whenever a boundary was crossed") {
  // Interval 10 at the ends of loops of 4 steps: the original runs at 20 and 40 only.
  std::string text;
  PeriodicAction action(10, one(text));
  const Logs logs;
  for (std::int64_t step = 4; step <= 40; step += 4) {
    action.run({.step = step, .previous_step = step - 4, .logs = logs});
  }
  CHECK(text == "12 20 32 40 ");
  CHECK_THROWS_AS(PeriodicAction(0, {}), Error);
}

TEST_CASE("a loop longer than the interval runs a periodic action once") {
  std::string text;
  PeriodicAction action(3, one(text));
  const Logs logs;
  action.run({.step = 10, .previous_step = 0, .logs = logs});
  action.run({.step = 11, .previous_step = 10, .logs = logs});
  action.run({.step = 12, .previous_step = 11, .logs = logs});
  CHECK(text == "10 12 ");
}

TEST_CASE("a conditional action checks every time and runs all its actions if true") {
  std::string first, second;
  Actions actions = one(first);
  actions.push_back(std::make_unique<Note>(second));
  ConditionalAction action([](const ActionEvent& event) { return *event.logs.find("loss") < 1; },
                           std::move(actions));
  action.run({.step = 1, .logs = loss(2)});
  action.run({.step = 2, .logs = loss(0.5)});
  action.run({.step = 3, .logs = loss(1)});
  CHECK(first == "2 ");
  CHECK(second == "2 ");
}

TEST_CASE("the best metric is strict, starts anywhere and is never NaN") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const Goal goal : {Goal::max, Goal::min}) {
    const double sign = goal == Goal::max ? 1 : -1;
    NewBestMetric best("loss", goal);
    CHECK_FALSE(best.test(loss(kNan)));
    CHECK_FALSE(best({.step = 1, .logs = loss(kNan)}));
    CHECK_FALSE(best.has_value());
    CHECK(best({.step = 2, .logs = loss(sign * -1e300)}));
    CHECK_FALSE(best({.step = 3, .logs = loss(sign * -1e300)}));  // equal is not better
    CHECK_FALSE(best({.step = 4, .logs = loss(kNan)}));
    CHECK(best.test(loss(sign * 2)));
    CHECK(best.value() == sign * -1e300);  // test() stores nothing
    best.commit(loss(sign * 2));
    CHECK(best.value() == sign * 2);
    CHECK_FALSE(best.test(loss(sign * 1)));
  }
}

TEST_CASE("the best metric survives in its file, and an empty file holds none") {
  test::TempDir temp;
  const fs::path file = temp / "best.json";
  {
    NewBestMetric best("loss", Goal::min, file);
    CHECK(best({.step = 1, .logs = loss(0.5)}));
  }
  NewBestMetric again("loss", Goal::min, file);
  REQUIRE(again.has_value());
  CHECK(again.value() == 0.5);
  CHECK_FALSE(again.test(loss(0.5)));
  CHECK(again.test(loss(0.25)));
  CHECK_THROWS_WITH(NewBestMetric("accuracy", Goal::max, file), Contains("holds the best 'loss'"));
  temp.write("empty.json", "");
  CHECK_FALSE(NewBestMetric("loss", Goal::max, temp / "empty.json").has_value());
  temp.write("torn.json", "{\"metric\": \"lo");
  CHECK_THROWS_WITH(NewBestMetric("loss", Goal::max, temp / "torn.json"), Contains("torn.json"));
}

TEST_CASE("a missing metric is an error with the existing names") {
  CHECK_THROWS_WITH(NewBestMetric("los").test(loss(1)), Contains("'loss'"));
}

TEST_CASE("exported directories count up, sort by number and leave others alone") {
  test::TempDir temp;
  for (const char* other : {"model-9", "model-x", "model-007", "model-", "other-3"}) {
    fs::create_directory(temp / other);
  }
  ExportDirectories exports(temp.path(), "model", 3);
  CHECK(names(exports.managed()) == std::vector<std::string>{"model-9"});
  const auto fill = [](const fs::path& directory) { std::ofstream(directory / "w") << "x"; };
  for (int i = 0; i < 3; ++i) exports.add(fill);
  CHECK(names(exports.managed()) == std::vector<std::string>{"model-10", "model-11", "model-12"});
  CHECK(fs::exists(temp / "model-12" / "w"));
  for (const char* other : {"model-x", "model-007", "model-", "other-3"}) {
    CHECK(fs::exists(temp / other));
  }
  // Numbers of the caller; a repeated name replaces the number and keeps its position.
  std::int64_t step = 5;
  ExportDirectories by_step(temp.path() / "new", "model", 0, [&] { return step; });
  by_step.add(fill);
  by_step.add(fill);
  step = 100;
  by_step.add(fill);
  CHECK(names(by_step.managed()) == std::vector<std::string>{"model-5", "model-100"});
}

TEST_CASE("an export that fails leaves the earlier ones and no half one") {
  test::TempDir temp;
  ExportDirectories exports(temp.path(), "model", 1);
  exports.add([](const fs::path&) {});
  CHECK_THROWS_WITH(exports.add([](const fs::path&) { throw RunError("disk full"); }),
                    Contains("disk full"));
  CHECK(names(exports.managed()) == std::vector<std::string>{"model-1"});
  CHECK_THROWS_AS(ExportDirectories(temp.path(), "../model"), Error);
}

TEST_CASE("an action that runs others saves and restores what they remember") {
  std::string text;
  const auto nested = [&] {
    Actions inner = one(text);
    inner.push_back(std::make_unique<Counter>());
    Actions outer;
    outer.push_back(std::make_unique<PeriodicAction>(2, std::move(inner)));
    return std::make_unique<ConditionalAction>([](const ActionEvent&) { return true; },
                                               std::move(outer));
  };
  const auto first = nested();
  const Logs logs;
  for (std::int64_t step = 1; step <= 6; ++step) {
    first->run({.step = step, .previous_step = step - 1, .logs = logs});
  }
  const Value state = first->save_state();
  CHECK(state == Value::array_of(std::vector<Value>{
                     Value::array_of(std::vector<Value>{Value(), Value(std::int64_t{3})})}));
  const auto second = nested();
  second->restore_state(state);
  second->run({.step = 8, .previous_step = 6, .logs = logs});
  CHECK(second->save_state().items()[0].items()[1].as_integer() == 4);

  CHECK(
      ConditionalAction([](const ActionEvent&) { return true; }, one(text)).save_state().is_null());
  CHECK_THROWS_WITH(ConditionalAction([](const ActionEvent&) { return true; }, one(text))
                        .restore_state(Value::array_of(std::vector<Value>(2))),
                    Contains("is not that of 1 action"));
}
