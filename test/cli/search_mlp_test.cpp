// SPDX-License-Identifier: Apache-2.0
// What searching is worth on real data: configs/vision/fashion_mnist_search.toml (learning rate,
// width and dropout of a network on Fashion-MNIST, 30 trials of one pass) with four strategies and
// three seeds. All twelve searches run at once by local/Orchestrator, each one trial after the
// other so that a strategy always sees the same history. Takes minutes, so it runs when it is asked
// for: cli_test '[.slow]'.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_fixture.h"
#include "support/jobs.h"

namespace search_mlp_test {

using namespace trivet::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kImages = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
constexpr int kSeeds = 3;

std::vector<Json> lines_of(const fs::path& file) {
  std::vector<Json> lines;
  std::ifstream in(file);
  for (std::string text; std::getline(in, text) && !in.eof();) lines.push_back(Json::parse(text));
  return lines;
}

struct Outcome {
  double best = 0;         // accuracy of a trial that was not stopped
  std::int64_t steps = 0;  // of all trials
};

Outcome outcome_of(const fs::path& experiment) {
  Outcome outcome;
  for (const Json& line : lines_of(experiment / "search.jsonl")) {
    if (line.at("state") != "complete") continue;
    outcome.best = std::max(outcome.best, line.at("value").get<double>());
  }
  for (const auto& entry : fs::directory_iterator(experiment)) {
    const std::vector<Json> records = lines_of(entry.path() / "metrics.jsonl");
    if (!records.empty()) outcome.steps += records.back().at("step").get<std::int64_t>();
  }
  return outcome;
}

// Experiments 1, 2, ... under one root.
class Searches {
 public:
  ShellResult call(const std::string& words) const {
    const std::string own = quoted(folder_.path().string());
    return trivet::test::trivet(words, "TRIVET_ROOT=" + own + " XDG_RUNTIME_DIR=" + own + " ");
  }

  // With every seed.
  void launch(const std::string& name, const std::string& sampler, const std::string& stopper) {
    for (int seed = 1; seed <= kSeeds; ++seed) {
      const ShellResult launched =
          call("launch " + quoted(config("vision/fashion_mnist_search.toml").string()) +
               " --xp.root_dir=" + quoted(folder_.path().string()) +
               " --xp.orchestrator.parallel=1 --xp.orchestrator.sampler=" + sampler +
               " --xp.orchestrator.stopper=" + stopper +
               " --xp.orchestrator.seed=" + std::to_string(seed));
      INFO(launched.output);
      REQUIRE(launched.exit_code == 0);
      directories_[name].push_back(folder_ / std::to_string(++launched_));
    }
  }

  void wait() const {
    for (const auto& [name, directories] : directories_) {
      INFO(name);
      for (const fs::path& directory : directories) wait_for(directory);
    }
  }

  // Of the seeds.
  Outcome median(const std::string& name) const {
    std::vector<double> best;
    std::vector<std::int64_t> steps;
    for (const fs::path& directory : directories_.at(name)) {
      const Outcome outcome = outcome_of(directory);
      WARN(name << ": " << outcome.best << " after " << outcome.steps << " steps");
      best.push_back(outcome.best);
      steps.push_back(outcome.steps);
    }
    std::sort(best.begin(), best.end());
    std::sort(steps.begin(), steps.end());
    return {best[kSeeds / 2], steps[kSeeds / 2]};
  }

  ~Searches() {
    for (int xid = 1; xid <= launched_; ++xid) call("cancel " + std::to_string(xid));
  }

 private:
  void wait_for(const fs::path& directory) const {
    const auto lines = [&] { return lines_of(directory / "search.jsonl").size(); };
    // Progress within each minute, until 30 trials have begun and ended.
    for (std::size_t before = 0; before < 60; before = lines()) {
      REQUIRE(wait_until([&] { return lines() > before; }));
    }
    // The last one may still be stopping.
    const std::string id = directory.filename();
    REQUIRE(wait_until([&] {
      return !Json::parse(call("status --json " + id).output).at("supervised").get<bool>();
    }));
  }

  TempDir folder_;
  std::map<std::string, std::vector<fs::path>> directories_;
  int launched_ = 0;
};

}  // namespace

TEST_CASE("on Fashion-MNIST samplers that learn beat random search, and ASHA halves the steps",
          "[.slow]") {
  if (!fs::exists(kImages)) {
    WARN("left out: " << kImages << " is missing");
    return;
  }
  Searches searches;
  searches.launch("random", "search/Random", "none");
  searches.launch("TPE", "search/Tpe", "none");
  searches.launch("Gaussian process", "search/GaussianProcess", "none");
  searches.launch("random with ASHA", "search/Random",
                  "'{type = \"search/Asha\", min_steps = 67}'");
  searches.wait();
  const Outcome random = searches.median("random");
  CHECK(searches.median("TPE").best > random.best);
  CHECK(searches.median("Gaussian process").best > random.best);
  // The same points as without it: what is stopped early must not have been the best. Up to 0.002
  // are twenty images of ten thousand.
  const Outcome stopped = searches.median("random with ASHA");
  CHECK(stopped.best >= random.best - 0.002);
  CHECK(2 * stopped.steps <= random.steps);
}

}  // namespace search_mlp_test
