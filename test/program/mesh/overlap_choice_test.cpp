// SPDX-License-Identifier: Apache-2.0
// Runs that choose mesh.overlap from their first steps, keep the profile, and use that of another
// run. An engine as slow as a network, and layers that take their time, let a profile be certain.
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/mesh/distant_runs.h"
#include "program/mesh/mesh_runs.h"
#include "program/run/watched_run.h"

using namespace trivet::test;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace overlap_choice_program_test {
namespace {

// The weights of the softmax, 8 MiB, are read right behind a unit that takes next to no time. Over
// a slow network their half moves in 260 ms, and is there in time only if this begins before the
// last two activations, which take 150 ms each.
const char* const kLarge =
    "runtime.threads=1 task.train_input.batch_size=2 task.train_input.seq_len=64 "
    "task.model.max_seq_len=64 task.model.model_dims=256 task.model.num_layers=3 "
    "task.model.vocab_size=8192 task.model.block_tpl.activation.type=distant/Slow "
    "task.model.block_tpl.activation.seconds=0.15 --mode train trainer.validation_interval=0 "
    "trainer.steps_per_loop=1 ";
const char* const kSlow = "1.6e7";  // bytes a second
const char* const kTwo = "mesh.ici_mesh_shape=[1,2,1] --processes 2 ";
// For what does not depend on times.
const char* const kSmall =
    "runtime.threads=1 --mode train trainer.validation_interval=0 trainer.steps_per_loop=1 ";

class Runs {
 public:
  fs::path directory(const std::string& name) const { return runs_.directory(name); }
  fs::path profile(const std::string& name) const { return directory(name) / "communication.json"; }
  json communication(const std::string& name) const {
    return json::parse(read_file(profile(name)));
  }
  ShellResult run(const std::string& name, const std::string& words, int steps) const {
    return runs_.run(name, "trainer.train_steps=" + std::to_string(steps) + " " + words);
  }
  std::string train(const std::string& name, const std::string& words, int steps,
                    const std::string& bandwidth = "1e12") const {
    return runs_.train(name, "trainer.train_steps=" + std::to_string(steps) + " " + words,
                       {.bandwidth = bandwidth});
  }

 private:
  DistantRuns runs_{""};
};

double rate(const fs::path& workdir, const std::string& name) {
  return records(workdir, "train").back().at("rates").at(name).get<double>();
}

}  // namespace

TEST_CASE("a slow network leads to a larger overlap than a fast one, and to the same bytes",
          "[slow]") {
  const Runs runs;
  const std::string words = std::string(kLarge) + kTwo;
  const std::string fast = runs.train("fast", words, 8, "1e12");
  const std::string slow = runs.train("slow", words, 8, kSlow);
  INFO(fast << slow);
  const json found = runs.communication("slow");
  CHECK(found.at("overlap") >= 4);
  CHECK(found.at("overlap") > runs.communication("fast").at("overlap"));
  CHECK_THAT(slow, Contains("mesh.overlap = " + std::to_string(found.at("overlap").get<int>())) &&
                       Contains("measured in steps 3 to 7"));
  const json& expected = found.at("expected");
  REQUIRE(expected.size() == 17);
  const auto exposed = [&](std::size_t overlap) {
    return expected[overlap].at("exposed_seconds").get<double>();
  };
  CHECK(exposed(0) > exposed(1));
  CHECK(exposed(1) - exposed(found.at("overlap").get<std::size_t>()) > 0.02);
  CHECK(found.at("steps") == 5);
  CHECK(found.at("mesh").at("processes") == 2);
  REQUIRE(found.at("sequences").size() == 1);
  CHECK(found.at("sequences")[0].at("processes") == json({0, 1}));
  CHECK(found.at("sequences")[0].at("exchanges").size() > 10);
  const json summary = json::parse(read_file(runs.directory("slow") / "summary.json"));
  CHECK(summary.at("overlap") == found.at("overlap"));
  CHECK(rate(runs.directory("slow"), "communication") >
        rate(runs.directory("fast"), "communication"));
  runs.train("one", std::string(kLarge) + "mesh.ici_mesh_shape=[1,2,1]", 8);
  CHECK((results_of(runs.directory("slow"), 8) == results_of(runs.directory("one"), 8)));
  CHECK((results_of(runs.directory("fast"), 8) == results_of(runs.directory("one"), 8)));
}

TEST_CASE("a profile is kept, and a run that continues or another one uses it", "[slow]") {
  const Runs runs;
  const std::string words = std::string(kSmall) + kTwo;
  CHECK_THAT(runs.train("short", words, 6), !Contains("mesh.overlap ="));
  CHECK_FALSE(fs::exists(runs.profile("short")));
  CHECK_THAT(runs.train("run", words, 7), Contains("measured in steps 3 to 7"));
  const json first = runs.communication("run");
  // The overlap of a run that continues is that of its profile.
  const std::string continued = runs.train("run", words, 10);
  CHECK_THAT(continued,
             Contains("mesh.overlap = ") && Contains("from " + runs.profile("run").string()));
  CHECK(runs.communication("run").at("sequences") == first.at("sequences"));
  CHECK(runs.communication("run").at("overlap") == first.at("overlap"));
  // A file, or the directory of a run. Two steps plan memory.
  for (const fs::path& from : {runs.profile("run"), runs.directory("run")}) {
    const std::string other = runs.train(from.filename().string() + "_2",
                                         words + " mesh.profile=" + quoted(from.string()), 2);
    CHECK_THAT(other, Contains("from " + runs.profile("run").string()));
    const std::string name = from.filename().string() + "_2";
    CHECK(runs.communication(name).at("sequences") == first.at("sequences"));
  }
  // Four processes of a mesh of four have another one.
  const std::string mesh = std::string(kSmall) + "mesh.ici_mesh_shape=[1,4,1] --processes ";
  runs.train("four", mesh + "2", 7);
  const std::string more = runs.train("four", mesh + "4", 14);
  CHECK_THAT(more,
             Contains("was measured on another mesh") && Contains("measures its first steps"));
  CHECK(runs.communication("four").at("mesh").at("processes") == 4);
}

TEST_CASE("profiles that do not fit are refused before anything is written") {
  const Runs runs;
  const std::string words = std::string(kSmall) + kTwo;
  runs.train("run", words, 7);
  const fs::path damaged = runs.directory("damaged.json");
  std::ofstream(damaged) << R"({"version": 1, "mesh": )";
  const fs::path later = runs.directory("later.json");
  std::ofstream(later) << R"({"version": 2})";
  const auto refused = [&](const std::string& more, const std::string& what) {
    const ShellResult ran = runs.run("refused", std::string(kSmall) + more, 7);
    INFO(ran.output);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.output, Contains("mesh.profile: ") && Contains(what));
    CHECK_FALSE(fs::exists(runs.directory("refused")));
  };
  const std::string profile = " mesh.profile=" + quoted(runs.profile("run").string());
  refused(kTwo + std::string(" mesh.profile=nowhere.json"), "No such file");
  refused(kTwo + (" mesh.profile=" + quoted(damaged.string())), "damaged.json");
  refused(kTwo + (" mesh.profile=" + quoted(later.string())), "is of version 2");
  refused("mesh.ici_mesh_shape=[1,4,1] --processes 2" + profile, "another mesh");
  refused(kTwo + profile + " task.model.model_dims=128", "weights");
  refused(kTwo + profile + " mesh.overlap=3", "leave one of them out");
}

TEST_CASE("a profile that cannot be read or written costs a warning, and not the run") {
  const Runs runs;
  const std::string words = std::string(kSmall) + kTwo;
  runs.train("run", words, 2);
  fs::create_directories(runs.profile("run") / "within");
  const std::string output = runs.train("run", words, 9);
  CHECK_THAT(output, Contains("measures its first steps again") &&
                         Contains("the profile of exchanges is not kept: "));
}

TEST_CASE("a given overlap is not changed, and says where it does nothing", "[slow]") {
  const Runs runs;
  const std::string given = runs.train("given", std::string(kSmall) + kTwo + "mesh.overlap=5", 8);
  CHECK_THAT(given, !Contains("no effect") && !Contains("measured in steps"));
  CHECK_FALSE(fs::exists(runs.profile("given")));
  const json summary = json::parse(read_file(runs.directory("given") / "summary.json"));
  CHECK(summary.at("overlap") == 5);
  const std::string whole =
      std::string(kSmall) + "mesh.ici_mesh_shape=[2,1,1] trainer.gradient_accumulation=2 ";
  CHECK_THAT(runs.train("whole", whole + "--processes 2 mesh.overlap=5", 1),
             Contains("mesh.overlap has no effect: each process has whole weights"));
  CHECK_THAT(runs.train("one", whole + "mesh.overlap=5", 1),
             Contains("mesh.overlap has no effect: the run is one process"));
  CHECK_THAT(runs.train("auto", whole + "--processes 2", 8), !Contains("mesh.overlap"));
}

TEST_CASE("a limit of memory is one of the overlap", "[slow]") {
  const Runs runs;
  const std::string words = std::string(kLarge) + kTwo;
  // What the first steps take, and less than a unit more.
  runs.train("first", words + "mesh.overlap=2", 3, kSlow);
  const json first = json::parse(read_file(runs.directory("first") / "summary.json"));
  const auto peak = first.at("peak_device_bytes").get<std::int64_t>();
  const std::string limited = runs.train(
      "limited", words + "runtime.memory_limit=" + std::to_string(peak + (1 << 18)), 8, kSlow);
  CHECK(runs.communication("limited").at("overlap") <= 2);
  CHECK_THAT(limited, Contains("more would need more memory than runtime.memory_limit"));
}

TEST_CASE("a profile of steps tells what is hidden, and a plot what is not") {
  const Runs runs;
  const std::string output =
      runs.train("run", std::string(kSmall) + kTwo + "mesh.overlap=2 --profile steps=3..4", 5);
  CHECK_THAT(output, Contains("exchanges of units") && Contains("under way ms") &&
                         Contains("waited ms") && Contains("step 3") && Contains("step 4"));
  CHECK_THAT(
      ::trivet::test::trivet("plot " + runs.directory("run").string() + " communication --json")
          .output,
      Contains("\"communication\""));
}

}  // namespace overlap_choice_program_test
