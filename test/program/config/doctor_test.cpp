// SPDX-License-Identifier: Apache-2.0
// `trivet doctor --peak`, and the figures of runs that use it. Times are compared with each other,
// never with fixed values.
#include <filesystem>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"

namespace doctor_test {

using namespace trivet::test;
using Catch::Contains;
using Catch::StartsWith;
namespace fs = std::filesystem;

namespace {

// Environment that stores all measurements in `dir`.
std::string cache_in(const TempDir& dir) {
  return "XDG_CACHE_HOME=" + quoted(dir.path().string()) + " ";
}

fs::path peaks_of(const TempDir& dir) {
  return dir.path() / "trivet" / "peaks.json";
}

nlohmann::json doctor(const std::string& words, const TempDir& cache) {
  const ShellResult result = trivet::test::trivet("doctor --json " + words, cache_in(cache));
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return nlohmann::json::parse(result.output);
}

// A short run of a language model on one thread.
ShellResult language_run(const TempDir& cache, const fs::path& workdir,
                         const std::string& more = {}) {
  return run(config("lm/local.toml"), workdir,
             "runtime.threads=1 trainer.train_steps=6 trainer.steps_per_loop=3 mode=train " + more,
             cache_in(cache));
}

}  // namespace

TEST_CASE("the doctor measures a peak and stores it by backend and threads", "[slow]") {
  const TempDir cache;
  CHECK(doctor("--threads 1", cache).at("peak_flops").is_null());
  CHECK_THAT(trivet::test::trivet("doctor", cache_in(cache)).output,
             Contains("not measured") && Contains("cpu/Highway"));
  CHECK_FALSE(fs::exists(peaks_of(cache)));

  const nlohmann::json measured = doctor("--peak --threads 1", cache);
  CHECK(measured.at("threads") == 1);
  CHECK(measured.at("peak_flops").get<double>() > 1e6);
  CHECK(measured.at("method") == "bursts");
  CHECK(measured.at("clock").get<double>() > 1e6);
  CHECK(measured.at("bytes_per_second").get<double>() > 1e6);
  CHECK_THAT(trivet::test::trivet("doctor --threads 1", cache_in(cache)).output,
             Contains("by bursts of multiply-adds; 1 core x ") && Contains("GB/s read"));
  CHECK(doctor("--threads 1", cache).at("peak_flops") == measured.at("peak_flops"));
  CHECK(doctor("--threads 2", cache).at("peak_flops").is_null());
  CHECK(doctor("--threads 1 --backend tiny/Backend", cache).at("peak_flops").is_null());

  const nlohmann::json other = doctor("--peak --threads 1 --backend tiny/Backend", cache);
  CHECK(other.at("method") == "products");
  CHECK(other.at("clock").is_null());
  CHECK(other.at("bytes_per_second").is_null());
  doctor("--peak --threads 1", cache);
  CHECK(json_of(peaks_of(cache)).at("peaks").size() == 2);  // a new peak replaces the old one
}

TEST_CASE("MFU is tokens per second times FLOPs per token over the measured peak", "[slow]") {
  const TempDir cache, dir;
  const double peak = doctor("--peak --threads 1", cache).at("peak_flops");
  const fs::path workdir = dir.path() / "run";
  const ShellResult result = language_run(cache, workdir);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("tokens    ") && Contains("MFU"));

  const nlohmann::json summary = json_of(workdir / "summary.json");
  const double of_token = summary.at("flops_per_token");
  CHECK(summary.at("peak_flops") == peak);
  CHECK(summary.at("mfu").get<double>() ==
        Approx(summary.at("tokens_per_second").get<double>() * of_token / peak));
  const auto lines = records(workdir, "train");
  CHECK(lines.size() == 2);
  for (const nlohmann::json& line : lines) {
    const nlohmann::json& rates = line.at("rates");
    CHECK(rates.at("mfu").get<double>() ==
          Approx(rates.at("tokens_per_second").get<double>() * of_token / peak));
    // Rows of 128 tokens, one step 8 of them.
    CHECK(rates.at("tokens_per_second").get<double>() ==
          Approx(rates.at("steps_per_second").get<double>() * 8 * 128));
  }
  const ShellResult meta =
      trivet::test::trivet("summary --abstract --json " + quoted(config("lm/local.toml").string()));
  CHECK(nlohmann::json::parse(meta.output).at("tokens").at("flops_per_token") == of_token);
}

TEST_CASE("the peak in a config has priority over the measured peak") {
  const TempDir cache, dir;
  const ShellResult result = language_run(cache, dir.path() / "run", "runtime.peak_flops=1e12");
  CHECK(result.exit_code == 0);
  const nlohmann::json summary = json_of(dir.path() / "run" / "summary.json");
  CHECK(summary.at("peak_flops") == 1e12);
  CHECK(summary.at("mfu").get<double>() ==
        Approx(summary.at("tokens_per_second").get<double>() *
               summary.at("flops_per_token").get<double>() / 1e12));
}

TEST_CASE("a run without a known peak measures it, and later runs use the same") {
  const TempDir cache, dir;
  const ShellResult first = language_run(cache, dir.path() / "first");
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  CHECK_THAT(first.output, Contains("MFU"));
  const double peak = json_of(dir.path() / "first" / "summary.json").at("peak_flops");
  CHECK(peak > 1e6);

  // Where other work disturbed the bursts, the next run measures again.
  if (fs::exists(peaks_of(cache))) {
    const nlohmann::json entry = json_of(peaks_of(cache)).at("peaks").at(0);
    CHECK(entry.at("flops") == peak);
    CHECK(entry.at("method") == "bursts");
    CHECK(entry.at("threads") == 1);
    CHECK(doctor("--threads 1", cache).at("peak_flops") == peak);
    REQUIRE(language_run(cache, dir.path() / "second").exit_code == 0);
    CHECK(json_of(dir.path() / "second" / "summary.json").at("peak_flops") == peak);
  }
}

TEST_CASE("a run whose peak cannot be stored reports its MFU") {
  const TempDir cache, dir;
  cache.write("trivet", "a file where the folder should be");
  const ShellResult result = language_run(cache, dir.path() / "run");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("MFU") && !Contains("warning"));
}

TEST_CASE("a measurement does not create the home of a user who has none") {
  const TempDir dir;
  const fs::path home = dir.path() / "home";
  const ShellResult result = trivet::test::trivet(
      "doctor --peak --threads 1", "HOME=" + quoted(home.string()) + " XDG_CACHE_HOME= ");
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, Contains("cannot create"));
  CHECK_FALSE(fs::exists(home));
}

TEST_CASE("a peak below what a run has reached is measured again") {
  const TempDir cache, dir;
  REQUIRE(language_run(cache, dir.path() / "first").exit_code == 0);
  if (!fs::exists(peaks_of(cache))) return;
  nlohmann::json peaks = json_of(peaks_of(cache));
  peaks.at("peaks").at(0).at("flops") = 1e6;
  cache.write("trivet/peaks.json", peaks.dump());
  REQUIRE(language_run(cache, dir.path() / "second").exit_code == 0);
  const nlohmann::json summary = json_of(dir.path() / "second" / "summary.json");
  CHECK(summary.at("peak_flops").get<double>() > 1e6);
  CHECK(summary.at("mfu").get<double>() < 1);
}

TEST_CASE("without a peak there is no MFU, and without tokens neither") {
  const TempDir cache, dir;
  const ShellResult result =
      language_run(cache, dir.path() / "run", "runtime.backend=tiny/Backend ");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("run 'trivet doctor --peak' to get the MFU"));
  const nlohmann::json summary = json_of(dir.path() / "run" / "summary.json");
  CHECK(summary.at("mfu").is_null());
  CHECK(summary.at("tokens_per_second").get<double>() > 0);
  const auto lines = records(dir.path() / "run", "train");
  REQUIRE(lines.size() == 2);
  CHECK(lines.back().at("rates").contains("tokens_per_second"));
  CHECK_FALSE(lines.back().at("rates").contains("mfu"));

  const fs::path images = dir.path() / "images";
  const ShellResult other =
      run(config("vision/local.toml"), images,
          std::string(kSmallRun) + "trainer.train_steps=4 runtime.peak_flops=1e12 mode=train",
          cache_in(cache));
  CHECK(other.exit_code == 0);
  CHECK(json_of(images / "summary.json").at("tokens_per_second").is_null());
  CHECK_FALSE(records(images, "train").back().at("rates").contains("mfu"));
}

TEST_CASE("a damaged file of peaks is an error of the doctor and a warning of a run") {
  const TempDir cache, dir;
  for (const char* text : {"{\"peaks\": 3}", "{\"peaks\": [", "[]", "", "\xff\xfe"}) {
    INFO(text);
    cache.write("trivet/peaks.json", text);
    const ShellResult asked = trivet::test::trivet("doctor", cache_in(cache));
    CHECK(asked.exit_code != 0);
    CHECK_THAT(asked.output, Contains("peaks.json"));
  }
  const ShellResult result = language_run(cache, dir.path() / "run");
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output,
             Contains("warning: ") && Contains("peaks.json") && Contains("the run reports no MFU"));
  // Entries without figures are ignored.
  cache.write("trivet/peaks.json", "{\"peaks\": [3, {}, {\"backend\": \"cpu/Highway\"}]}");
  CHECK(doctor("--threads 1", cache).at("peak_flops").is_null());
}

TEST_CASE("the doctor reports wrong requests", "[slow]") {
  const TempDir cache;
  const auto fails = [&](const std::string& words, const std::string& text) {
    const ShellResult result = trivet::test::trivet("doctor " + words, cache_in(cache));
    INFO(result.output);
    CHECK(result.exit_code != 0);
    CHECK_THAT(result.output, Contains(text));
  };
  fails("--threads many", "--threads takes a number from 0 to 1024, not 'many'");
  fails("--backend cpu/Nothing", "cpu/Nothing");
  fails("configs/x.toml", "'trivet doctor' takes no argument 'configs/x.toml'");
  cache.write("trivet", "a file where the folder should be");
  fails("--peak --threads 1", "cannot create");
}

TEST_CASE("the doctor times the exchange of a sum between processes that it starts", "[slow]") {
  const TempDir cache;
  for (const int processes : {1, 2, 3}) {
    const auto seen =
        doctor("--collective local/SharedMemory --processes " + std::to_string(processes), cache);
    CHECK(seen.at("collective") == "local/SharedMemory");
    CHECK(seen.at("processes") == processes);
    CHECK(seen.at("processes_of_this_machine") == processes);
    REQUIRE(seen.at("exchanges").size() == 3);
    CHECK(seen.at("exchanges").back().at("bytes").get<std::int64_t>() >= 16 << 20);
    CHECK(seen.at("exchanges").back().at("seconds").get<double>() > 0);
    REQUIRE(seen.contains("network") == (processes > 1));
    if (processes == 1) continue;
    const ShellResult paper = trivet::test::trivet(
        "summary " + quoted(config("lm/local.toml").string()) +
        " --on-paper --device-flops 1GFLOP/s --network " + seen.at("network").get<std::string>());
    INFO(paper.output);
    CHECK(paper.exit_code == 0);
  }
  // Two processes unless told otherwise; the first one alone prints.
  const ShellResult result =
      trivet::test::trivet("doctor --collective local/SharedMemory", cache_in(cache));
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output,
             StartsWith("collective  local/SharedMemory (shared memory); 2 processes, 2 on this"));
}

TEST_CASE("the doctor starts processes of MPI by its launcher", "[slow][nosan]") {
  if (!fs::exists(plugin_dir() / "mpi.so")) {
    WARN("skipped: this build has no MPI");
    return;
  }
  const TempDir cache;
  const auto seen = doctor("--collective mpi/Mpi --processes 2", cache);
  CHECK(seen.at("processes") == 2);
  CHECK(seen.at("exchanges").size() == 3);
}

TEST_CASE("the doctor reports wrong requests of processes") {
  const auto fails = [&](const std::string& words, const std::string& text,
                         const std::string& environment = {}) {
    const ShellResult result = trivet::test::trivet("doctor " + words, environment);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains(text));
  };
  fails("--collective local/Nothing", "local/Nothing");
  fails("--collective cpu/Highway", "cpu/Highway");
  fails("--processes 2", "--processes goes with --collective");
  fails("--collective local/SharedMemory --peak", "--peak does not go with --collective");
  for (const char* count : {"0", "-1", "two", "1000000000", ""}) {
    INFO(count);
    fails("--collective local/SharedMemory --processes '" + std::string(count) + "'",
          "--processes takes a number");
  }
  fails("--collective local/SharedMemory --processes 3", "--processes is 3, and 2 were started",
        "TRIVET_RANK=0 TRIVET_PROCESSES=2 TRIVET_WORLD_FD=9 ");
}

TEST_CASE("a process that meets no other ends with a reason") {
  const ShellResult result =
      trivet::test::trivet("doctor --collective local/SharedMemory",
                           "TRIVET_RANK=0 TRIVET_PROCESSES=2 TRIVET_WORLD_FD=999 ");
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, Contains("cannot meet in shared memory: cannot open"));
}

}  // namespace doctor_test
