// SPDX-License-Identifier: Apache-2.0
// The round-trip check passes on valid configs and finds errors in others.
#include "trivet/testing/config_check.h"

#include <catch2/catch.hpp>

#include "trivet/experiment.h"

namespace {

struct Sample {
  std::int64_t dims = 0;
  double rate = 0.5;
  std::string name = "a";
  std::vector<std::int64_t> sizes = {1, 2};
  trivet::Init init = trivet::Init::normal;
};
TRIVET_CONFIG(Sample, trivet::NoBase, (dims, "Depth.", required, at_least(1)),
              (rate, "Share.", between(0, 1)), (name, "For messages."), (sizes, "Of layers."),
              (init, "Start."))

struct Undocumented {
  bool flag = false;
};
TRIVET_CONFIG(Undocumented, trivet::NoBase, (flag, ""))

}  // namespace

TEST_CASE("a sound config passes the round-trip check") {
  const auto report = trivet::testing::check_config(Sample{.dims = 3});
  INFO(report.text());
  CHECK(report.passed());
  CHECK(report.checks > 15);
}

TEST_CASE("a field without a doc is found") {
  const auto report = trivet::testing::check_config(Undocumented{});
  REQUIRE(report.failures.size() == 1);
  CHECK(report.failures.front() == "flag: has no doc");
}

TEST_CASE("a sample that is not valid is found") {
  const auto report = trivet::testing::check_config(Sample{.dims = 0});
  CHECK_FALSE(report.passed());
}

TEMPLATE_TEST_CASE("the SDK's own configs pass the round-trip check", "", trivet::RuntimeConfig,
                   trivet::TrainerConfig, trivet::TaskConfig, trivet::GradientClipConfig,
                   trivet::InitConfig, trivet::LayerConfig, trivet::MetricConfig) {
  const auto report = trivet::testing::check_config(TestType{});
  INFO(report.text());
  CHECK(report.passed());
}
