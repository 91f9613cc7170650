// SPDX-License-Identifier: Apache-2.0
// A run that diverges and may recover, through the real program.
#include <catch2/catch.hpp>
#include <string>

#include "run_fixture.h"
#include "support/shell.h"

using namespace trivet;
using Catch::Contains;

namespace {

// The first loss of ten classes is about ln(10) = 2.3, so every first step is a bad one.
const std::string kBad = "trainer.loss_upper_bound=0.5 trainer.recovery_max_trials=2 ";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("a run that diverges goes back as often as it may, then fails with the count") {
  const test::TempDir temp;
  const auto result = test::run(test::config("vision/local.toml"), temp / "run", kBad);
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK(count(result.output, "back to step 0 (step_00000000)") == 2);
  CHECK_THAT(result.output, Contains("at step 1, above trainer.loss_upper_bound = 0.5, after the "
                                     "last checkpoint was restored 2 times"));
  CHECK(test::json_of(temp / "run/status.json").at("state") == "failed");
}

TEST_CASE("a run that leaves out bad steps fails at the one that is too many") {
  const test::TempDir temp;
  const auto result =
      test::run(test::config("vision/local.toml"), temp / "run", kBad + "trainer.recovery=skip");
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, Contains("at step 3") && Contains("after 2 steps that were left out"));
}
