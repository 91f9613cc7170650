// SPDX-License-Identifier: Apache-2.0
// configs/lm/licenses.toml with fewer steps. The result shows whether the complete training, which
// takes minutes, reaches the figures of docs/language-models.md.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"

using namespace trivet::test;
using Catch::Contains;

TEST_CASE("a million weights start to learn licenses from scratch", "[slow]") {
  const TempDir temp;
  const ShellResult trained = run(config("lm/licenses.toml"), temp / "run",
                                  "trainer.train_steps=400 trainer.validation_interval=400");
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  CHECK_THAT(trained.output,
             Contains("unigram bits_per_byte=5.0") && Contains("trigram bits_per_byte=2.8"));
  CHECK(fallback_kernels(temp / "run").empty());
  const double bits =
      records(temp / "run", "eval").back().at("values").at("bits_per_byte").get<double>();
  CHECK(bits <= 2.7);  // less than a trigram model
  const ShellResult text = trivet::test::trivet("generate " + quoted((temp / "run").string()) +
                                                " 'You may ' --tokens 200 --temperature 0.5");
  INFO(text.output);
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.output, Contains(" the "));
}
