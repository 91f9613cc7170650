// SPDX-License-Identifier: Apache-2.0
// Shipped configs, run by the real program: the files of a run, and results that must not depend on
// the backend, the number of threads or a restart.
#include <cmath>
#include <map>

#include <catch2/catch.hpp>

#include "program/models/safetensors_reader.h"
#include "run_fixture.h"

namespace end_to_end_test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using trivet::test::config;
using trivet::test::fallback_kernels;
using trivet::test::json_of;
using trivet::test::quoted;
using trivet::test::read_file;
using trivet::test::records;
using trivet::test::ShellResult;
using trivet::test::TempDir;

fs::path local() {
  return config("vision/local.toml");
}

void require_run(const fs::path& file, const fs::path& workdir, const std::string& more = {}) {
  const ShellResult result = trivet::test::run(file, workdir, more);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
}

// Every file below a folder, with its bytes and the time it was written.
std::map<std::string, std::pair<std::string, fs::file_time_type>> files_below(const fs::path& dir) {
  std::map<std::string, std::pair<std::string, fs::file_time_type>> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().string()] = {read_file(entry.path()), entry.last_write_time()};
  }
  return files;
}

std::string model_bytes(const fs::path& workdir, const std::string& step) {
  return read_file(workdir / "checkpoints" / step / "model.safetensors");
}

// The loss of each of the first 20 steps.
std::vector<double> first_losses(const fs::path& file, const fs::path& workdir,
                                 const std::string& backend) {
  require_run(
      file, workdir,
      "mode=train trainer.train_steps=20 trainer.steps_per_loop=1 runtime.backend=" + backend);
  std::vector<double> losses;
  for (const auto& record : records(workdir, "train")) {
    losses.push_back(record.at("values").at("training_loss").get<double>());
  }
  REQUIRE(losses.size() == 20);
  return losses;
}

void check_backends_agree(const fs::path& file) {
  const TempDir folder;
  const auto cpu = first_losses(file, folder / "cpu", "cpu/Highway");
  const auto tiny = first_losses(file, folder / "tiny", "tiny/Backend");
  CHECK(cpu.back() < cpu.front());  // it learns, so the agreement is meaningful
  for (std::size_t step = 0; step < cpu.size(); ++step) {
    INFO("step " << step + 1 << ": " << cpu[step] << " and " << tiny[step]);
    // The order of sums differs, by about 2^-24 each; after 20 steps of Adam this is at most 1e-5
    // here.
    CHECK(std::abs(cpu[step] - tiny[step]) <= 1e-4 * std::abs(cpu[step]));
  }
  CHECK(fallback_kernels(folder / "cpu").empty());
  const auto composed = fallback_kernels(folder / "tiny");
  CHECK_THAT(composed, Catch::VectorContains(std::string("linear_fwd")));
  CHECK_THAT(composed, Catch::VectorContains(std::string("softmax_xent")));
}

}  // namespace

TEST_CASE("cpu/OpenBlas is a former name of cpu/Highway") {
  const TempDir folder;
  const fs::path file = config("vision/local.toml");
  CHECK(first_losses(file, folder / "former", "cpu/OpenBlas") ==
        first_losses(file, folder / "now", "cpu/Highway"));
}

TEST_CASE("local.toml learns its images and writes a complete run directory") {
  const TempDir folder;
  const fs::path workdir = folder / "run";
  require_run(local(), workdir);

  for (const char* name : {"config.toml", "metrics.jsonl", "log.jsonl", "status.json",
                           "summary.json", "confusion_matrix.csv"}) {
    INFO(name);
    CHECK(fs::is_regular_file(workdir / name));
  }
  for (const char* step : {"step_00000100", "step_00000200", "step_00000300"}) {
    for (const char* name :
         {"model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"}) {
      INFO(step << "/" << name);
      CHECK(fs::is_regular_file(workdir / "checkpoints" / step / name));
    }
  }
  const auto summary = json_of(workdir / "summary.json");
  CHECK(summary.at("state") == "done");
  CHECK(summary.at("step") == 300);
  CHECK(summary.at("eval").at("accuracy") > 0.9);
  CHECK(json_of(workdir / "status.json").at("state") == "done");
  // 300 steps in loops of 20; evaluations at 150 and 300.
  CHECK(records(workdir, "train").size() == 15);
  const auto evaluations = records(workdir, "eval");
  REQUIRE(evaluations.size() == 2);
  CHECK(evaluations[1].at("step") == 300);
  CHECK(evaluations[1].at("values").at("accuracy") == summary.at("eval").at("accuracy"));
  CHECK(evaluations[1].at("rates").at("examples") == 1024);
}

TEST_CASE("a finished run reports it after a restart and changes none of its files") {
  const TempDir folder;
  const fs::path workdir = folder / "run";
  require_run(local(), workdir);
  const auto checkpoints = files_below(workdir / "checkpoints");
  const std::string metrics = read_file(workdir / "metrics.jsonl");
  const std::string summary = read_file(workdir / "summary.json");

  const ShellResult again = trivet::test::run(local(), workdir);
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.output, Contains("step 300 is already reached: nothing to train"));
  CHECK(files_below(workdir / "checkpoints") == checkpoints);
  CHECK(read_file(workdir / "metrics.jsonl") == metrics);
  CHECK(read_file(workdir / "summary.json") == summary);
  CHECK(json_of(workdir / "status.json").at("state") == "done");
}

TEST_CASE("a backend with only the mandatory functions trains like the default one") {
  check_backends_agree(local());
}

TEST_CASE("both backends agree on the first steps of Fashion-MNIST", "[slow]") {
  if (!fs::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")) {
    WARN("skipped: the package dataset-fashion-mnist is not installed");
    return;
  }
  check_backends_agree(config("vision/fashion_mnist_mlp.toml"));
}

TEST_CASE("weights do not depend on the number of threads") {
  const TempDir folder;
  // Layers wide enough that the work is split.
  const std::string wide = "mode=train trainer.train_steps=20 'task.model.hidden_dims=[512, 256]' ";
  require_run(local(), folder / "one", wide + "runtime.threads=1");
  require_run(local(), folder / "two", wide + "runtime.threads=2");
  require_run(local(), folder / "three", wide + "runtime.threads=3");
  CHECK(json_of(folder / "one" / "summary.json").at("threads") == 1);
  CHECK(json_of(folder / "two" / "summary.json").at("threads") == 2);
  const std::string one = model_bytes(folder / "one", "step_00000020");
  CHECK(one.size() > std::size_t{256 + 512} * 256 * 4);
  CHECK((one == model_bytes(folder / "two", "step_00000020")));
  CHECK((one == model_bytes(folder / "three", "step_00000020")));
}

TEST_CASE("another seed gives other weights") {
  const TempDir folder;
  require_run(local(), folder / "a", "mode=train trainer.train_steps=1");
  require_run(local(), folder / "b", "mode=train trainer.train_steps=1 seed=2");
  CHECK((model_bytes(folder / "a", "step_00000001") != model_bytes(folder / "b", "step_00000001")));
}

TEST_CASE("a reader that only knows the published layout reads a checkpoint's weights") {
  const TempDir folder;
  require_run(local(), folder / "run", "mode=train trainer.train_steps=20");
  const auto tensors = trivet::test::read_safetensors(folder / "run" / "checkpoints" /
                                                      "step_00000020" / "model.safetensors");
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.shape;
  CHECK(shapes == decltype(shapes){{"hidden_0/w", {256, 64}},
                                   {"hidden_0/b", {64}},
                                   {"output/w", {64, 10}},
                                   {"output/b", {10}}});
  for (const auto& [name, tensor] : tensors) {
    INFO(name);
    double largest = 0;
    for (const float value : tensor.values) {
      const auto size = std::abs(static_cast<double>(value));
      if (!(size <= largest)) largest = size;  // a NaN stays
    }
    // Xavier's bound is below 0.3 here, and 20 steps of Adam move no weight by more than 0.1.
    CHECK(largest > 0);
    CHECK(largest < 0.5);
  }
}

}  // namespace end_to_end_test
