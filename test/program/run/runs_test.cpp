// SPDX-License-Identifier: Apache-2.0
// trivet ls, plot and diff, over runs of the real program and over handwritten directories.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.h"
#include "support/shell.h"

using namespace trivet::test;
using Catch::Contains;
using Catch::StartsWith;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

ShellResult trivet_in(const fs::path& directory, const std::string& words,
                      const std::string& environment = "LC_ALL=C") {
  return shell("cd " + quoted(directory.string()) + " && " + environment + " " +
               quoted(program().string()) + " " + words);
}

std::string record(int step, const std::string& kind, const std::string& values) {
  return "{\"step\":" + std::to_string(step) + ",\"kind\":\"" + kind + "\",\"values\":{" + values +
         "},\"rates\":{\"steps_per_second\":50.0},\"time\":1.0}\n";
}

// A finished run of 40 steps with a loss that falls linearly from `loss` to 0.
void make_run(const TempDir& folder, const std::string& name, double loss, double accuracy) {
  std::string metrics;
  for (int step = 10; step <= 40; step += 10) {
    metrics += record(
        step, "train",
        "\"training_loss\":" + std::to_string(loss * (40 - step) / 30) + ",\"accuracy\":0.5");
  }
  metrics +=
      record(40, "eval", "\"validation_loss\":0.125,\"accuracy\":" + std::to_string(accuracy));
  folder.write(name + "/metrics.jsonl", metrics);
  folder.write(name + "/status.json",
               "{\"state\":\"done\",\"step\":40,\"target\":40,\"mode\":\"train_and_eval\","
               "\"attempt\":1,\"time\":1000000000.0,\"started\":999999990.0,\"pid\":1,"
               "\"host\":\"elsewhere\",\"boot_id\":\"x\",\"message\":\"\"}");
  folder.write(name + "/config.toml", "seed = 1\n[trainer]\ntrain_steps = 40\nlearning_rate = " +
                                          std::to_string(loss) + "\n");
}

struct TwoRuns {
  TwoRuns() {
    make_run(folder, "runs/10-b", 2, 0.75);
    make_run(folder, "runs/2-a", 1, 0.5);
  }
  ShellResult trivet(const std::string& words) const { return trivet_in(folder.path(), words); }
  TempDir folder;
};

}  // namespace

TEST_CASE("trivet ls shows states, steps and the numbers of evaluations, runs in their order") {
  const TwoRuns runs;
  const ShellResult listed = runs.trivet("ls");
  CHECK(listed.exit_code == 0);
  CHECK_THAT(listed.output, StartsWith("RUN   STATE   STEP"));
  CHECK_THAT(listed.output, Contains("validation_loss  accuracy\n"));
  CHECK_THAT(listed.output, Contains("\n2-a   done   40/40 ") && Contains("0.1250    0.5000\n"));
  CHECK(listed.output.find("2-a") < listed.output.find("10-b"));
  CHECK(runs.trivet("ls runs").output.substr(0, 40) == listed.output.substr(0, 40));

  const ShellResult chosen = runs.trivet("ls -m train/accuracy -m accuracy -m nothing");
  CHECK_THAT(chosen.output, Contains("train/accuracy  accuracy  nothing\n") &&
                                Contains("0.5000    0.7500        -\n"));
}

TEST_CASE("trivet ls --json prints all known values and null for the others") {
  const TwoRuns runs;
  runs.folder.write("runs/bad/status.json", "{\"state\":");
  const auto rows = json::parse(runs.trivet("ls --json").output);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("run") == "2-a");
  CHECK(rows[0].at("state") == "done");
  CHECK(rows[0].at("target") == 40);
  CHECK(rows[0].at("eval").at("step") == 40);
  CHECK(rows[0].at("eval").at("values").at("accuracy") == 0.5);
  CHECK(rows[0].at("train").at("rates").at("steps_per_second") == 50);
  CHECK(rows[0].at("age").get<double>() > 1e8);
  CHECK(rows[2].at("run") == "bad");
  CHECK(rows[2].at("state") == "unknown");
  CHECK(rows[2].at("step").is_null());
  CHECK(rows[2].at("eval").is_null());
  CHECK_THAT(rows[2].at("problem").get<std::string>(), Contains("status.json"));
}

TEST_CASE("trivet ls reports an empty directory, and a missing one is an error") {
  const TempDir folder;
  const ShellResult none = trivet_in(folder.path(), "ls");
  CHECK(none.exit_code == 0);
  CHECK(none.output == "No runs in runs.\n");
  CHECK(trivet_in(folder.path(), "ls --json").output == "[]\n");
  const ShellResult missing = trivet_in(folder.path(), "ls nowhere");
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.output,
             Contains("'nowhere' is neither a directory nor an experiment's number"));
  CHECK(trivet_in(folder.path(), "ls a b").exit_code == 2);
}

TEST_CASE("control characters in names and messages are not printed") {
  const TempDir folder;
  make_run(folder, "runs/\x1b[2Jx", 1, 0.5);
  folder.write("runs/\x1b[2Jx/status.json", "{\"state\":\"\\u001b[31mred\",\"step\":1}");
  const std::string output = trivet_in(folder.path(), "ls").output;
  CHECK_THAT(output, !Contains("\x1b"));
  CHECK_THAT(output, Contains(" [31mred"));
  CHECK_THAT(trivet_in(folder.path(), "plot runs/*").output, !Contains("\x1b"));
}

TEST_CASE("trivet ls of ten thousand runs lists them all", "[slow]") {
  const TempDir folder;
  for (int i = 1; i <= 10'000; ++i) {
    make_run(folder, "runs/" + std::to_string(i) + "-x", 1, 0.5);
  }
  const ShellResult listed = trivet_in(folder.path(), "ls -m accuracy");
  CHECK(listed.exit_code == 0);
  CHECK(std::count(listed.output.begin(), listed.output.end(), '\n') == 10'001);
  CHECK(listed.output.find("\n9999-x") < listed.output.find("\n10000-x"));
}

TEST_CASE("trivet plot draws the losses by default, otherwise the named metrics") {
  const TwoRuns runs;
  const ShellResult drawn = runs.trivet("plot runs/2-a train/training_loss --width 30 --height 5");
  CHECK(drawn.exit_code == 0);
  CHECK(drawn.output ==
        " train/training_loss\n"
        " 1.0 |****\n"
        "     |    ******\n"
        " 0.5 |          ****\n"
        "     |              *****\n"
        " 0.0 |                   *****\n"
        "     +--------+--------------+\n"
        "             20             40\n"
        "  * 2-a  train/training_loss  \n");
  const std::string losses = runs.trivet("plot runs/2-a").output;
  CHECK_THAT(losses, StartsWith(" training_loss,validation_loss\n"));
  CHECK_THAT(losses,
             Contains("* 2-a  train/training_loss") && Contains("o 2-a  eval/validation_loss"));
}

TEST_CASE("several runs and kinds share a chart, several metrics have one each") {
  const TwoRuns runs;
  const std::string output = runs.trivet("plot runs/* accuracy steps_per_second").output;
  for (const char* label :
       {"* 10-b  train/accuracy", "o 10-b  eval/accuracy", "x 2-a  train/",
        "# 2-a  eval/accuracy  last 0.5000", "* 10-b  train/steps_per_second"}) {
    CHECK_THAT(output, Contains(label));
  }
  CHECK_THAT(output, Contains("\n\n steps_per_second\n"));
  CHECK_THAT(output, !Contains("\x1b"));
  // Distinct markers, if the locale has them.
  CHECK_THAT(trivet_in(runs.folder.path(), "plot runs/* accuracy", "LC_ALL=C.UTF-8").output,
             Contains("  ● 10-b") && Contains("  ▲ 2-a"));
}

TEST_CASE("runs whose directories have the same name are distinguished by their paths") {
  const TwoRuns runs;
  make_run(runs.folder, "other/2-a", 1, 0.75);
  CHECK_THAT(runs.trivet("plot runs/2-a other/2-a eval/accuracy").output,
             Contains("* runs/2-a") && Contains("o other/2-a"));
}

TEST_CASE("trivet plot --json gives the points") {
  const TwoRuns runs;
  const auto rows = json::parse(runs.trivet("plot runs/2-a accuracy --json").output);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("run") == "runs/2-a");
  CHECK(rows[0].at("kind") == "train");
  CHECK(rows[0].at("points").size() == 4);
  CHECK(rows[0].at("points")[3] == json::array({40, 0.5}));
  CHECK(rows[1].at("kind") == "eval");
}

TEST_CASE("a wrong request of trivet plot is an error with a hint") {
  const TwoRuns runs;
  struct Row {
    const char* words;
    const char* output;
  };
  const Row row = GENERATE(
      Row{"plot", "error: 'trivet plot' takes runs, then metrics (trivet plot runs/1-local"},
      Row{"plot accuracy", "error: none of the words is the directory of a run"},
      Row{"plot runs accuracy", "error: 'runs' is not a run: it has no metrics.jsonl (trivet ls"},
      Row{"plot runs/2-a acuracy",
          "error: no run or metric is named 'acuracy' (did you mean 'accuracy'?)\n"},
      Row{"plot runs/2-a eval/training_loss", "error: no run or metric is named 'training_"},
      Row{"plot runs/2-a a,,b", "error: 'a,,b' has an empty metric between commas"},
      Row{"plot runs/2-a --width wide", "error: --width takes a number from 1 to 1000, not 'wide'"},
      Row{"plot runs/2-a --height 0", "error: --height takes a number"});
  CAPTURE(row.words);
  const ShellResult result = runs.trivet(row.words);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output, StartsWith(row.output));
}

TEST_CASE("the intact part of damaged metrics is drawn, with a warning") {
  const TwoRuns runs;
  const fs::path file = runs.folder.path() / "runs/2-a/metrics.jsonl";
  const std::string whole = read_file(file);
  std::ofstream(file, std::ios::trunc)
      << std::string("\xff\x00{\n", 4) << whole << whole.substr(0, 30);
  const ShellResult drawn = runs.trivet("plot runs/2-a accuracy");
  CHECK(drawn.exit_code == 0);
  CHECK_THAT(drawn.output, Contains("warning: runs/2-a/metrics.jsonl: 1 line is not a record") &&
                               Contains("* 2-a  train/accuracy"));
  CHECK_THAT(runs.trivet("ls").output, Contains("2-a   done") && Contains("0.5000"));
}

TEST_CASE("trivet diff prints values by path and metrics with their change") {
  const TwoRuns runs;
  const ShellResult different = runs.trivet("diff runs/2-a runs/10-b");
  CHECK(different.exit_code == 1);
  CHECK(different.output ==
        "CONFIG                 runs/2-a  runs/10-b\n"
        "trainer.learning_rate  1.0       2.0\n"
        "\n"
        "METRIC                         runs/2-a          runs/10-b   CHANGE\n"
        "(last step)           train 40, eval 40  train 40, eval 40\n"
        "eval/validation_loss             0.1250             0.1250        =\n"
        "eval/accuracy                    0.5000             0.7500  +0.2500\n"
        "train/training_loss              0.0000             0.0000        =\n"
        "train/accuracy                   0.5000             0.5000        =\n");
  const ShellResult same = runs.trivet("diff runs/2-a runs/2-a");
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.output, StartsWith("The configs are equal.\n"));

  const auto found = json::parse(runs.trivet("diff runs/2-a runs/10-b --json").output);
  REQUIRE(found.at("config").size() == 1);
  CHECK(found.at("config")[0].at("path") == "trainer.learning_rate");
  CHECK(found.at("config")[0].at("second") == "2.0");
  CHECK(found.at("steps").at("first").at("eval") == 40);
  CHECK(found.at("metrics")[1].at("metric") == "eval/accuracy");
  CHECK(found.at("metrics")[1].at("second") == 0.75);
}

TEST_CASE("trivet diff finds no difference between two numbers that are not finite") {
  const TwoRuns runs;
  runs.folder.write("runs/2-a/metrics.jsonl",
                    "{\"kind\": \"eval\", \"step\": 40, \"values\": {\"accuracy\": null}}\n");
  const ShellResult same = runs.trivet("diff runs/2-a runs/2-a");
  INFO(same.output);
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.output, Contains("eval/accuracy") && Catch::EndsWith("=\n"));
}

TEST_CASE("trivet diff works on runs without metrics and rejects directories without a run") {
  const TwoRuns runs;
  fs::remove(runs.folder.path() / "runs/2-a/metrics.jsonl");
  CHECK_THAT(runs.trivet("diff runs/2-a runs/10-b").output,
             Contains("eval/accuracy                       -             0.7500"));
  fs::remove(runs.folder.path() / "runs/10-b/metrics.jsonl");
  CHECK_THAT(runs.trivet("diff runs/2-a runs/10-b").output, Contains("Neither run has metrics.\n"));
  const ShellResult missing = runs.trivet("diff runs/2-a runs/3-c");
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.output, StartsWith("error: 'runs/3-c' is not a run: it has no config.toml"));
  CHECK(runs.trivet("diff runs/2-a").exit_code == 2);
  // A config of a later version is compared as far as TOML goes.
  runs.folder.write("runs/2-a/config.toml", "seed = 1\nquantum = {qubits = 3}\n");
  CHECK_THAT(runs.trivet("diff runs/2-a runs/10-b").output, Contains("quantum.qubits         3  "));
}
