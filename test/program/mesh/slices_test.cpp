// SPDX-License-Identifier: Apache-2.0
// Runs on meshes of several slices: the bytes of one process, what a summary tells of them, and
// wrong configs.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/mesh/distant_runs.h"
#include "program/mesh/mesh_runs.h"

using namespace trivet::test;
using Catch::Contains;

namespace slices_test {
namespace {

const std::string kCommon =
    "--mode train trainer.validation_interval=0 runtime.threads=1 "
    "task.train_input.batch_size=16 ";

ShellResult summary(const std::string& config_name, const std::string& words) {
  return trivet::test::trivet("summary " + quoted(config("lm/" + config_name + ".toml").string()) +
                              " " + words);
}

nlohmann::json figures(const std::string& config_name, const std::string& words) {
  const ShellResult result = summary(config_name, "--json " + words);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return nlohmann::json::parse(result.output);
}

}  // namespace

TEST_CASE("processes in several slices compute what one process does", "[slow]") {
  const auto mesh = [](const std::string& ici, const std::string& dcn) {
    return "mesh.ici_mesh_shape=" + ici + " mesh.dcn_mesh_shape=" + dcn + " mesh.slice_of=host";
  };
  check_same_as_one({mesh("[4,1,1]", "[2,1,1]"), {"2", "4", "8"}}, kCommon);
  check_same_as_one({mesh("[1,2,1]", "[2,1,1]"), {"4"}}, kCommon);
  check_same_as_one({mesh("[1,1,2]", "[2,1,1]"), {"4"}}, kCommon);
}

TEST_CASE("weights over data and blocks in several slices are those of one process", "[slow]") {
  const std::string large = kCommon + kShortTexts +
                            "task.model.model_dims=128 task.model.num_layers=3 "
                            "task.model.num_heads=4 ";
  const auto mesh = [](const std::string& ici, const std::string& dcn) {
    return "mesh.ici_mesh_shape=" + ici + " mesh.dcn_mesh_shape=" + dcn;
  };
  for (const char* overlap : {" mesh.overlap=0", " mesh.overlap=3"}) {
    check_same_as_one({mesh("[1,2,1]", "[1,2,1]") + overlap, {"2", "4"}}, large);
  }
  check_same_as_one({mesh("[1,4,1]", "[1,2,1]"), {"8"}}, large);
  check_same_as_one({mesh("[1,2,2]", "[1,2,1]"), {"8"}}, large);
  check_same_as_one({mesh("[1,2,1]", "[1,1,2]"), {"2", "4"}}, large);
}

TEST_CASE("exchanges of slices run beside the computation on a slow network", "[slow]") {
  const DistantRuns runs(kCommon + kShortTexts +
                         "trainer.train_steps=3 mesh.ici_mesh_shape=[1,2,1] "
                         "mesh.dcn_mesh_shape=[1,2,1] task.model.model_dims=256 "
                         "task.model.num_layers=4");
  const auto results = [&](const std::string& name, const std::string& words) {
    runs.train(name, words, {.bandwidth = "2e8"});
    return results_of(runs.directory(name), 3);
  };
  const std::string one = results("one", "mesh.processes=1");
  CHECK(results("waits", "--processes 4 mesh.overlap=0") == one);
  CHECK(results("beside", "--processes 4 mesh.overlap=4") == one);
}

TEST_CASE("a summary tells how much goes to other slices") {
  const std::string words = "mesh.processes=8 task.train_input.batch_size=8 ";
  const std::string flat = words + "mesh.ici_mesh_shape=[8,1,1] ";
  const std::string sliced = words + "mesh.ici_mesh_shape=[4,1,1] mesh.dcn_mesh_shape=[2,1,1] ";
  const nlohmann::json whole = figures("local", flat).at("process_sends");
  const nlohmann::json sends = figures("local", sliced).at("process_sends");
  for (const char* name : {"gradients", "weights"}) {
    INFO(name);
    CHECK(sends.at(name).at("bytes") == whole.at(name).at("bytes"));
    CHECK(sends.at(name).at("messages") == whole.at(name).at("messages"));
    // One part of eight, to the one process of the other slice with the same position.
    CHECK(sends.at(name).at("between_slices_bytes").get<double>() * 7 ==
          whole.at(name).at("bytes").get<double>());
    CHECK_FALSE(whole.at(name).contains("between_slices_bytes"));
  }
  CHECK_THAT(summary("local", sliced).output, Contains("to others of the 2 slices) in a step"));
  CHECK_THAT(summary("local", flat).output, !Contains("slices"));
}

TEST_CASE("a predicted step has a network between slices") {
  const std::string words =
      "mesh.processes=8 task.train_input.batch_size=8 mesh.ici_mesh_shape=[4,1,1] "
      "mesh.dcn_mesh_shape=[2,1,1] --on-paper --device-flops 50GFLOP/s --network 5us,10GB/s ";
  const auto row = [](const nlohmann::json& seen) { return seen.at("on_paper").at("rows").at(0); };
  const nlohmann::json same = figures("local", words);
  const nlohmann::json slow = figures("local", words + "--dcn-network 50us,1GB/s");
  double seconds = 0, between = 0;
  for (const auto& [name, one] : slow.at("process_sends").items()) {
    const auto messages = one.at("between_slices_messages").get<double>();
    const auto bytes = one.at("between_slices_bytes").get<double>();
    seconds += messages * 45e-6 + bytes * (1 / 1e9 - 1 / 1e10);
    between += bytes;
  }
  CHECK(row(slow).at("exchange_seconds").get<double>() ==
        Approx(row(same).at("exchange_seconds").get<double>() + seconds));
  CHECK(row(slow).at("between_slices_bytes").get<double>() == between);
  CHECK_THAT(
      summary("local", words + "--dcn-network 50us,1GB/s").output,
      Contains("2 slices: 50 us a message, 1.0 GB/s between them") && Contains("to other slices"));
  const ShellResult wrong = summary("local", words + "--dcn-network 50us");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.output, Contains("--dcn-network takes LATENCY,BANDWIDTH"));
  CHECK_THAT(summary("local", "--dcn-network 5us,1GB/s").output,
             Contains("--dcn-network goes with --on-paper"));
}

TEST_CASE("a large mesh of slices is predicted", "[slow]") {
  const std::string words =
      "mesh.dcn_mesh_shape=[4,1,1] mesh.processes=64 --on-paper --network 5us,100GB/s ";
  const auto row = [&](const std::string& dcn) {
    const nlohmann::json seen = figures("c4_22b_1xv4_128", words + dcn);
    const nlohmann::json first = seen.at("on_paper").at("rows").at(0);
    INFO(first);
    REQUIRE_FALSE(first.contains("refused"));
    return first;
  };
  const nlohmann::json fast = row(""), slow = row("--dcn-network 50us,5GB/s");
  // Of 63 parts that a process sends for 64 processes, 48 would go to the three other slices, and 3
  // do. Parts of variables that are longer than others move among all.
  const double part =
      fast.at("between_slices_bytes").get<double>() / fast.at("sent_bytes").get<double>();
  CHECK(part > 3.0 / 63);
  CHECK(part < 5.0 / 63);
  CHECK(slow.at("exchange_seconds") > fast.at("exchange_seconds"));
}

TEST_CASE("what a slice is one of must be known") {
  const TempDir dir;
  const ShellResult wrong = run(config("lm/local.toml"), dir.path() / "wrong",
                                "mesh.slice_of=rack trainer.train_steps=1");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.output, Contains("mesh.slice_of") && Contains("must be \"host\" or empty"));
  CHECK_FALSE(std::filesystem::exists(dir.path() / "wrong"));
}

}  // namespace slices_test
