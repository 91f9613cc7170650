// SPDX-License-Identifier: Apache-2.0
// Runs of configs/lm/local.toml whose processes exchange by an engine as slow as a network, which
// is test/plugins/fixtures/distant.cpp.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/plugin_folder.h"

namespace trivet::test {

struct DistantNetwork {
  std::string bandwidth = "1e12";  // bytes a second
  std::filesystem::path report{};  // gets the most exchanges that were under way; empty: nobody
};

class DistantRuns {
 public:
  // `words` are those of all runs.
  explicit DistantRuns(std::string words) : words_(std::move(words)) { plugins_.copy("distant"); }

  std::filesystem::path directory(const std::string& name) const { return dir_.path() / name; }

  ShellResult run(const std::string& name, const std::string& words,
                  const DistantNetwork& network = {}) const {
    std::string settings = "TRIVET_DISTANT_BANDWIDTH=" + network.bandwidth + " ";
    if (!network.report.empty()) {
      settings += "TRIVET_DISTANT_REPORT=" + quoted(network.report.string()) + " ";
    }
    return test::run(config("lm/local.toml"), directory(name),
                     "--plugin-dir " + quoted(plugins_.path().string()) +
                         " mesh.collective=distant/Network " + words_ + " " + words,
                     settings);
  }
  // What it prints.
  std::string train(const std::string& name, const std::string& words,
                    const DistantNetwork& network = {}) const {
    const ShellResult ran = run(name, words, network);
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
    return ran.output;
  }

 private:
  const std::string words_;
  TempDir dir_;
  PluginFolder plugins_;
};

}  // namespace trivet::test
