// SPDX-License-Identifier: Apache-2.0
// What configs/lm/licenses.toml promises: 1.9 bits for each byte of text that it has not read, and
// texts that read like a licence. Takes five minutes, so it runs when it is asked for: cli_test
// '[.slow]'.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "run_fixture.h"

using namespace trivet::test;
using Catch::Contains;

TEST_CASE("a million weights learn licences from a cold start", "[.slow]") {
  const TempDir temp;
  const ShellResult trained = run(config("lm/licenses.toml"), temp / "run");
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  CHECK_THAT(trained.output,
             Contains("unigram bits_per_byte=5.0") && Contains("trigram bits_per_byte=2.8"));
  const double bits =
      records(temp / "run", "eval").back().at("values").at("bits_per_byte").get<double>();
  WARN("bits per byte of held-out text: " << bits);
  CHECK(bits <= 1.9);
  const ShellResult text = trivet::test::trivet("generate " + quoted((temp / "run").string()) +
                                                " 'You may ' --tokens 200 --temperature 0.5");
  WARN(text.output);
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.output, Contains(" the "));
}
