// SPDX-License-Identifier: Apache-2.0
// A number followed through a file that another program writes.
#include "search/study/measurements.h"

#include <cmath>
#include <fstream>

#include <catch2/catch.hpp>

#include "support/shell.h"

using namespace trivet;
using namespace trivet::test;
using search::MeasurementReader;
using search::parse_objective;

namespace {

std::string eval(std::int64_t step, const std::string& value, const std::string& name = "loss") {
  return R"({"step": )" + std::to_string(step) + R"(, "kind": "eval", "values": {")" + name +
         R"(": )" + value + "}, \"rates\": {}, \"time\": 1.5}\n";
}

void append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app) << text;
}

struct Run {
  TempDir dir;
  std::filesystem::path file = dir.path() / "metrics.jsonl";
  MeasurementReader reader{file, parse_objective("loss")};

  std::vector<search::Measurement> after(const std::string& text) {
    append(file, text);
    reader.update();
    return reader.measurements();
  }
};

}  // namespace

TEST_CASE("an objective is an evaluation number by default") {
  const auto parts = [](const char* text) {
    const search::Objective objective = parse_objective(text);
    return objective.kind + " " + objective.name;
  };
  CHECK(parts("accuracy") == "eval accuracy");
  CHECK(parts("eval/accuracy") == "eval accuracy");
  CHECK(parts("train/training_loss") == "train training_loss");
  CHECK(parts("digits/accuracy") == "eval digits/accuracy");
  CHECK(parts("evaluation") == "eval evaluation");
}

TEST_CASE("an objective may be one number of several, or a rate") {
  CHECK(search::text_of(parse_objective("mean(*/accuracy)")) == "mean(eval/*/accuracy)");
  CHECK(search::text_of(parse_objective("small:max(train/loss*)")) == "small:max(train/loss*)");
  CHECK(search::text_of(parse_objective("max(small:loss*)")) == "small:max(eval/loss*)");
  const TempDir dir;
  const std::filesystem::path file = dir.path() / "metrics.jsonl";
  append(file, R"({"step": 1, "kind": "eval", "values": {"a/loss": 2, "b/loss": 5, "loss": 9},)"
               R"( "rates": {"c/loss": 7, "steps_per_second": 4, "num_params": 30}})"
               "\n"
               R"({"step": 2, "kind": "eval", "values": {"a/loss": 3, "b/loss": null}})"
               "\n"
               R"({"step": 3, "kind": "eval", "values": {"other": 3}})"
               "\n"
               R"({"step": 4, "a/loss": 1, "steps_per_second": 6})"
               "\n");
  const auto values = [&](const char* objective) {
    MeasurementReader reader(file, parse_objective(objective));
    reader.update();
    return reader.measurements();
  };
  const auto mean = values("mean(*/loss)");
  REQUIRE(mean.size() == 3);
  CHECK(mean[0] == search::Measurement{1, 3.5});
  CHECK(mean[1].step == 2);
  CHECK(std::isnan(mean[1].value));
  CHECK(mean[2] == search::Measurement{4, 1});
  CHECK(values("max(*loss)") == std::vector<search::Measurement>{{1, 9}});
  CHECK(values("num_params") == std::vector<search::Measurement>{{1, 30}});
  CHECK(values("steps_per_second") == std::vector<search::Measurement>{{1, 4}, {4, 6}});
  CHECK(values("train/steps_per_second").empty());
}

TEST_CASE("an objective may be that of a run in a directory of the unit") {
  const auto parts = [](const char* text) {
    const search::Objective objective = parse_objective(text);
    return objective.run + " " + objective.kind + " " + objective.name;
  };
  CHECK(parts("small:accuracy") == "small eval accuracy");
  CHECK(parts("run-2_b:train/training_loss") == "run-2_b train training_loss");
  CHECK(parts("small:test/a:b") == "small eval test/a:b");
  // Names that hold colons.
  CHECK(parts("eval/small:accuracy") == " eval small:accuracy");
  CHECK(parts("../up:accuracy") == " eval ../up:accuracy");
  CHECK(parts(":accuracy") == " eval :accuracy");
  CHECK(search::text_of(parse_objective("small:accuracy")) == "small:eval/accuracy");
  CHECK(search::text_of(parse_objective("loss")) == "eval/loss");
  const TempDir unit;
  const auto curve_of = [&](const char* objective) {
    search::UnitCurve curve(unit.path(), parse_objective(objective));
    curve.update();
    return curve.measurements();
  };
  append(unit.write("metrics.jsonl", ""), eval(1, "0.5"));
  append(unit.write("small/metrics.jsonl", ""), eval(2, "0.25"));
  CHECK(curve_of("loss") == std::vector<search::Measurement>{{1, 0.5}});
  CHECK(curve_of("small:loss") == std::vector<search::Measurement>{{2, 0.25}});
  CHECK(curve_of("large:loss").empty());
}

TEST_CASE("measurements come as lines are written") {
  Run run;
  CHECK_FALSE(run.reader.update());
  CHECK(run.reader.measurements().empty());
  CHECK(run.after(eval(10, "0.5")) == std::vector<search::Measurement>{{10, 0.5}});
  CHECK_FALSE(run.reader.update());
  CHECK(run.after(eval(20, "1") + eval(30, "0.25")) ==
        std::vector<search::Measurement>{{10, 0.5}, {20, 1}, {30, 0.25}});
}

TEST_CASE("half a line counts once it is complete") {
  Run run;
  const std::string line = eval(10, "0.125");
  CHECK(run.after(line.substr(0, 20)).empty());
  CHECK(run.after(line.substr(20, 30)).empty());
  CHECK(run.after(line.substr(50)) == std::vector<search::Measurement>{{10, 0.125}});
}

TEST_CASE("only records of the objective's kind and name count") {
  Run run;
  CHECK(run.after("{\"step\": 1, \"kind\": \"train\", \"values\": {\"loss\": 3}}\n" +
                  eval(2, "0.5", "other_loss") +
                  "{\"kind\": \"eval\", \"values\": {\"loss\": 3}}\n" +
                  "{\"step\": 3, \"kind\": \"eval\", \"values\": {\"loss\": \"low\"}}\n" +
                  "{\"step\": 4, \"kind\": \"eval\", \"values\": \"loss\"}\n" +
                  "[\"loss\"]\n\"loss\"\nloss {\n\n" + eval(5, "0.75")) ==
        std::vector<search::Measurement>{{5, 0.75}});
}

TEST_CASE("lines of other programs may be flat") {
  Run run;
  CHECK(run.after("{\"step\": 50, \"loss\": 0.3}\n"
                  "{\"step\": 60, \"loss\": 0.2, \"kind\": \"eval\", \"time\": 1.5}\n"
                  "{\"step\": 70, \"loss\": 0.1, \"kind\": \"train\"}\n"
                  "{\"loss\": 0.1}\n") == std::vector<search::Measurement>{{50, 0.3}, {60, 0.2}});
}

TEST_CASE("a number that is not finite is measured, too") {
  Run run;
  const auto found = run.after(eval(10, "null") + eval(20, "0.5"));
  REQUIRE(found.size() == 2);
  CHECK(std::isnan(found[0].value));
  CHECK(found[1] == search::Measurement{20, 0.5});
}

TEST_CASE("numbers that JSON does not have are read as Python writes them") {
  Run run;
  const auto found = run.after(eval(10, "NaN") + eval(20, "-Infinity") +
                               R"({"note": "\"NaN, \\", "step": 30, "kind": "eval", )" +
                               R"("values": {"other": Infinity, "loss": 0.5}})" + "\n");
  REQUIRE(found.size() == 3);
  CHECK(std::isnan(found[0].value));
  CHECK(std::isnan(found[1].value));
  CHECK(found[2] == search::Measurement{30, 0.5});
}

TEST_CASE("records that a run rewrites after a restart replace the old ones") {
  Run run;
  run.after(eval(10, "1") + eval(20, "2") + eval(30, "3"));
  SECTION("appended, as after a kill past a checkpoint") {
    CHECK(run.after(eval(20, "0.5")) == std::vector<search::Measurement>{{10, 1}, {20, 0.5}});
  }
  SECTION("in a shorter file") {
    std::ofstream(run.file, std::ios::trunc) << eval(10, "0.5");
    CHECK(run.after("") == std::vector<search::Measurement>{{10, 0.5}});
  }
  SECTION("in another file of the same name") {
    const auto other = run.dir.path() / "other";
    append(other, eval(10, "4") + eval(20, "5") + eval(30, "6") + eval(40, "7"));
    std::filesystem::rename(other, run.file);
    CHECK(run.after("") == std::vector<search::Measurement>{{10, 4}, {20, 5}, {30, 6}, {40, 7}});
  }
}
