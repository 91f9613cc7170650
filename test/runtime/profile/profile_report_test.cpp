// SPDX-License-Identifier: Apache-2.0
// Tables and timelines of made-up profiles.
#include "profile/profile_report.h"

#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace profile_report_test {

using namespace trivet;
using Catch::Contains;

namespace {

// Two steps of 10 ms: a product in "body" forward and backward, and an update.
ProfiledSteps two_steps() {
  ProfiledSteps steps{.first = 7, .last = 8, .ends = {0.010, 0.020}};
  steps.scopes = {"", "body"};
  for (const double begin : {0.0, 0.010}) {
    steps.kernels.push_back({.name = "linear_fwd",
                             .scope = 1,
                             .begin = begin,
                             .seconds = 0.002,
                             .flops = 4e6,
                             .bytes = 2e6});
    steps.kernels.push_back({.name = "linear_bwd",
                             .scope = 1,
                             .gradient = true,
                             .begin = begin + 0.002,
                             .seconds = 0.003,
                             .flops = 8e6,
                             .bytes = 3e6});
    steps.kernels.push_back(
        {.name = "optim", .begin = begin + 0.006, .seconds = 0.001, .flops = 1e3, .bytes = 1e6});
    steps.spans.push_back({.name = "forward", .thread = 0, .begin = begin, .seconds = 0.002});
    steps.spans.push_back({.name = "read batch", .thread = 1, .begin = begin, .seconds = 0.004});
  }
  return steps;
}

}  // namespace

TEST_CASE("rows are per step, the longest first") {
  const ProfiledSteps steps = two_steps();
  const auto kernels = rows_by_kernel(steps);
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0].name == "linear_bwd");
  CHECK(kernels[0].seconds == Approx(0.003));
  CHECK(kernels[0].calls == 1);
  CHECK(kernels[2].name == "optim");
  const auto layers = rows_by_layer(steps);
  REQUIRE(layers.size() == 2);
  CHECK(layers[0].name == "body");
  CHECK(layers[0].seconds == Approx(0.005));
  CHECK(layers[0].gradient_seconds == Approx(0.003));
  CHECK(layers[0].flops == Approx(12e6));
  CHECK(layers[1].name == "(outside of layers)");
  const auto spans = rows_by_span(steps);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].name == "forward");
  CHECK(spans[1].name == "read batch (thread)");
}

TEST_CASE("the tables have shares of the step, rates, and the share of a known peak") {
  ProfiledSteps steps = two_steps();
  CHECK_THAT(profile_text(steps, 0),
             Contains("profile of steps 7 to 8: 10.000 ms a step, 60.0 % of it in kernels") &&
                 Contains("'trivet doctor --peak'"));
  steps.peak_flops = 4e9;
  const std::string text = profile_text(steps, 0);
  // 8e6 operations and 3e6 bytes in 3 ms.
  CHECK_THAT(text, Contains("linear_bwd         1.0    3.000   30.0 %      2.7   1.0   66.7 %"));
  CHECK_THAT(text, Contains("body                        2.0    5.000   50.0 %       2.000        "
                            "3.000      2.4"));
  CHECK_THAT(text, Contains("peak 4e+09 FLOP/s"));
  const std::string few = profile_text(steps, 1);
  CHECK_THAT(few, Contains("2 more") && Contains("linear_bwd") && !Contains("optim"));
}

TEST_CASE("a trace has steps, spans and kernels in microseconds") {
  const auto trace = nlohmann::json::parse(chrome_trace(two_steps()));
  int steps = 0, kernels = 0, spans = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::string name = event.at("name");
    if (name == "step 8") CHECK(event.at("ts") == Approx(10000));
    steps += name.starts_with("step ") ? 1 : 0;
    spans += name == "forward" || name == "read batch" ? 1 : 0;
    if (event.at("args").contains("layer")) ++kernels;
    if (name != "linear_bwd") continue;
    CHECK(event.at("dur") == Approx(3000));
    CHECK(event.at("args").at("layer") == "body");
    CHECK(event.at("args").at("pass") == "backward");
  }
  CHECK(steps == 2);
  CHECK(spans == 4);
  CHECK(kernels == 6);
}

TEST_CASE("exchanges of units: under way in a step, and waited for") {
  ProfiledSteps steps = two_steps();
  CHECK_THAT(profile_text(steps, 0), !Contains("exchanges of units"));
  // Two at a time, and one that the step before has started.
  steps.exchanges = {{.begin = 0.001, .wait = 0.004, .end = 0.005},
                     {.begin = 0.003, .wait = 0.006, .end = 0.008},
                     {.begin = 0.009, .wait = 0.012, .end = 0.013}};
  const std::vector<StepExchanges> rows = exchanges_by_step(steps);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].step == 7);
  CHECK(rows[0].count == 2);
  CHECK(rows[0].under_way_seconds == Approx(0.007));
  CHECK(rows[0].waited_seconds == Approx(0.003));
  CHECK(rows[1].count == 1);
  CHECK(rows[1].under_way_seconds == Approx(0.004));
  CHECK(rows[1].waited_seconds == Approx(0.001));
  const std::string text = profile_text(steps, 1);
  CHECK_THAT(text, Contains("step 7") && Contains("57.1 %") && !Contains("step 8"));
  CHECK_THAT(text,
             Contains("mean") && Contains("5.500") && Contains("2.000") && Contains("63.6 %"));
}

}  // namespace profile_report_test
