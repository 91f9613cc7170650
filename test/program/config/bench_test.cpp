// SPDX-License-Identifier: Apache-2.0
// `trivet bench`. Times are never compared with fixed values.
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"

namespace bench_test {

using namespace trivet::test;
using Catch::Contains;
using Catch::StartsWith;

TEST_CASE("bench measures both passes of an operation on several backends", "[slow]") {
  const ShellResult result = trivet::test::trivet(
      "bench cpu/Highway tiny/Backend --op layer_norm --op adam --json --threads 2");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json figures = nlohmann::json::parse(result.output);
  const nlohmann::json& backends = figures.at("backends");
  REQUIRE(backends.size() == 2);
  CHECK(backends[0].at("key") == "cpu/Highway");
  CHECK(backends[0].at("threads") == 2);
  CHECK(backends[0].at("bytes_per_second").get<double>() > 1e6);
  CHECK(backends[1].at("bytes_per_second").is_null());

  const nlohmann::json& rows = figures.at("rows");
  REQUIRE(rows.size() == 6);  // adam has no backward pass
  const auto check = [&](std::size_t row, const std::string& op, const std::string& pass,
                         const std::string& backend) {
    INFO(rows[row].dump());
    CHECK(rows[row].at("op") == op);
    CHECK(rows[row].at("pass") == pass);
    CHECK(rows[row].at("backend") == backend);
    const double seconds = rows[row].at("seconds"), flops = rows[row].at("flops");
    CHECK(seconds > 0);
    const double peak = backends[row % 2].at("peak_flops");
    CHECK(rows[row].at("peak_share").get<double>() == Approx(flops / seconds / peak));
    CHECK(rows[row].at("memory_share").is_null() == (backend == "tiny/Backend"));
  };
  check(0, "layer_norm", "forward", "cpu/Highway");
  check(1, "layer_norm", "forward", "tiny/Backend");
  check(2, "layer_norm", "backward", "cpu/Highway");
  check(3, "layer_norm", "backward", "tiny/Backend");
  check(4, "adam", "forward", "cpu/Highway");
  check(5, "adam", "forward", "tiny/Backend");
  CHECK(rows[0].at("kernels") == nlohmann::json{"norm_fwd"});
  CHECK(rows[0].at("bytes").get<double>() == 4.0 * 2 * 1024 * 768);
  CHECK(rows[1].at("kernels").size() > 1);  // composed
}

TEST_CASE("bench prints a row for each pass, with the speed relative to the first backend",
          "[slow]") {
  const ShellResult one = trivet::test::trivet("bench --op rope --threads 1");
  INFO(one.output);
  REQUIRE(one.exit_code == 0);
  CHECK_THAT(one.output, StartsWith("cpu/Highway: ") && Contains("1 thread; peak ") &&
                             Contains("of memory  kernels") && !Contains("speed"));
  const ShellResult two = trivet::test::trivet("bench tiny/Backend cpu/Highway --op rope");
  INFO(two.output);
  REQUIRE(two.exit_code == 0);
  CHECK_THAT(two.output, Contains("of memory   speed  kernels") && Contains("    1.00  ") &&
                             Contains(" kernels\n") && Contains("  rope\n"));
}

TEST_CASE("the manual page of bench names the operations") {
  const ShellResult help = trivet::test::trivet("help bench");
  CHECK(help.exit_code == 0);
  CHECK_THAT(help.output, Contains("\nOperations: matmul, linear, ") && Contains(", adam\n"));
}

TEST_CASE("bench refuses what it cannot measure") {
  const auto fails = [](const std::string& words, const std::string& text) {
    const ShellResult result = trivet::test::trivet("bench " + words);
    INFO(words << ": " << result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains(text));
  };
  fails("--op matmull", "--op: there is no operation 'matmull'");
  fails("--op matmull", "did you mean 'matmul'?");
  fails("cpu/Highwy", "there is no backend 'cpu/Highwy'");
  fails("nn/Linear", "it is a layer");
  fails("cpu/Highway cpu/Highway", "'cpu/Highway' twice");
  fails("--threads many", "--threads takes a number from 0 to 1024, not 'many'");
}

}  // namespace bench_test
