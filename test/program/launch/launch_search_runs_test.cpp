// SPDX-License-Identifier: Apache-2.0
// A search whose trials are several runs, as docs/searches.md shows it.
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"
#include "support/jobs.h"
#include "support/shell.h"

namespace launch_search_runs_test {

using namespace trivet::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a trial of two runs has the weighted sum of their metrics", "[slow]") {
  const TempDir folder;
  const fs::path root = folder / "root";
  const auto settings = "TRIVET_ROOT=" + quoted(root.string()) +
                        " XDG_RUNTIME_DIR=" + quoted(folder.path().string()) + " ";
  const auto job = [](const std::string& name, const std::string& dims) {
    return "[xp.jobs." + name +
           "]\ntarget = 'trivet'\nargs = ['run', '{cfg}', '--workdir={wu_dir}/" + name +
           "', 'task.model.hidden_dims=[" + dims + "]']\n";
  };
  const fs::path file = folder.write(
      "runs.toml",
      "base = ['" + config("vision/local.toml").string() +
          "']\n[trainer]\ntrain_steps = 40\nsteps_per_loop = 20\n[xp]\njobs_provider = "
          "'trivet/EmptyJobs'\n" +
          job("small", "4") + job("large", "32") +
          "[xp.orchestrator]\ntype = 'search/Orchestrator'\nobjectives = [{ metric = "
          "'small:accuracy', goal = 'max' }, { metric = 'large:accuracy', goal = 'max' }]\n"
          "combine = { method = 'weighted_sum', weights = [1, 3] }\ntrials = 2\n"
          "[xp.orchestrator.space]\n'trainer.learning_rate' = { log_uniform = [1e-3, 1e-2] }\n");
  const ShellResult launched = trivet::test::trivet("launch " + quoted(file.string()), settings);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  const auto status = [&] {
    return Json::parse(trivet::test::trivet("status --json 1", settings).output);
  };
  REQUIRE(wait_until([&] { return !status().at("supervised").get<bool>(); }));
  const auto accuracy = [&](const std::string& wid, const std::string& run) {
    for (const auto& entry : fs::directory_iterator(root / "1")) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_directory() || !name.starts_with(wid)) continue;
      return json_of(entry.path() / run / "summary.json").at("eval").at("accuracy").get<double>();
    }
    return -1.0;
  };
  int ended = 0;
  std::ifstream journal(root / "1/search.jsonl");
  for (std::string text; std::getline(journal, text);) {
    const Json line = Json::parse(text);
    if (line.at("state") == "running") continue;
    INFO(text);
    REQUIRE(line.at("state") == "complete");
    const std::string wid = std::to_string(line.at("wid").get<int>());
    const double small = accuracy(wid, "small"), large = accuracy(wid, "large");
    CHECK(line.at("value").get<double>() == Approx((small + 3 * large) / 4));
    ++ended;
  }
  CHECK(ended == 2);
}

}  // namespace launch_search_runs_test
