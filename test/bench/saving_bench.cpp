// SPDX-License-Identifier: Apache-2.0
// Measures the cost of saving a run: metrics of every step as a share of a step of 1 ms, a
// checkpoint against `dd` with fsync in the same run, and how long training waits for a checkpoint
// that is written in the background. Prints ratios; the seconds are this machine's.
//
//   saving_bench DIRECTORY [MEGABYTES]      on the disk to measure; 500 megabytes when not said

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/process_info.h"
#include "checkpoint/checkpoint_manager.h"
#include "cli/view/progress.h"
#include "host/process_watch.h"
#include "run/run_recorder.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "support/shell.h"
#include "trivet/ops.h"
#include "trivet/tensor.h"

namespace {

namespace fs = std::filesystem;
using namespace trivet;

constexpr int kRounds = 3;

double best_of(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

Logs example_logs(std::int64_t step) {
  Logs logs;
  double x = 1.0 / static_cast<double>(step);
  for (const char* name : {"training_loss", "accuracy", "top_5_accuracy", "learning_rate"}) {
    logs.set(name, x += 0.1);
  }
  return logs;
}

// Everything a run does to record a step: a line of metrics, and a summary writer if one is named.
void measure_metrics(const fs::path& directory, Device& device, const std::string& writer) {
  constexpr std::int64_t kSteps = 100000;
  constexpr double kStepSeconds = 1e-3;
  Progress progress({.style = OutputStyle::quiet});
  SummaryWriters writers;
  if (!writer.empty()) writers.open({ConfigOf<SummaryWriter>(writer, Value::table())}, directory);
  MetricsLog metrics(directory / "metrics.jsonl");
  EventLog log(directory / "log.jsonl");
  StatusFile status(directory / "status.json", "train", kSteps);
  RunStats stats(device);
  const StopSignals signals;
  const ProcessWatch process(device);
  RunRecorder recorder({progress, metrics, writers, log, status, stats, signals, process}, kSteps,
                       Value::table());
  recorder.on_start(0, {});
  const double start = steady_seconds();
  recorder.on_train_begin(0);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    recorder.on_train_step(step, 0.5, 64);
    recorder.on_train_logs(step, example_logs(step));
  }
  recorder.on_train_end(kSteps);
  const double each = (steady_seconds() - start) / kSteps;
  std::printf("metrics    %.2f us a step with a line each: %.2f %% of a step of 1 ms%s%s\n",
              each * 1e6, 100 * each / kStepSeconds, writer.empty() ? "" : ", with ",
              writer.c_str());
}

NamedTensors weights_of(std::uint64_t bytes, Device& device) {
  constexpr std::int64_t kTensors = 20;
  const auto elements = static_cast<std::int64_t>(bytes / 4) / kTensors;
  std::vector<float> values(static_cast<std::size_t>(elements));
  NamedTensors weights;
  for (std::int64_t i = 0; i < kTensors; ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      values[j] = static_cast<float>(j * 7919 % 100003) * 1e-5f + static_cast<float>(i);
    }
    weights.emplace_back("layer_" + std::to_string(i) + "/w",
                         Tensor::from<float>(device, values, {elements}));
  }
  return weights;
}

double seconds_of_dd(const fs::path& directory, std::uint64_t megabytes) {
  const fs::path file = directory / "dd";
  const double start = steady_seconds();
  const auto result = test::shell("dd if=/dev/zero of=" + test::quoted(file.string()) +
                                  " bs=1M count=" + std::to_string(megabytes) + " conv=fsync");
  const double seconds = steady_seconds() - start;
  if (result.exit_code != 0) throw std::runtime_error(result.output);
  fs::remove(file);
  return seconds;
}

// Alternates, so that other disk load affects both.
void measure_write(const fs::path& directory, const NamedTensors& weights,
                   std::uint64_t megabytes) {
  CheckpointManager manager(directory / "checkpoints", {.max_to_keep = 1},
                            [](const std::string& text) { std::puts(text.c_str()); });
  std::vector<double> dd, save;
  for (int round = 1; round <= kRounds; ++round) {
    dd.push_back(seconds_of_dd(directory, megabytes));
    const auto saved = manager.save(
        round, [&](CheckpointWriter& writer) { writer.write_tensors("model", weights); });
    save.push_back(saved->seconds);
    std::printf("           dd %.3f s, checkpoint %.3f s\n", dd.back(), save.back());
  }
  std::printf("checkpoint %llu MB in %.3f s, dd with fsync in %.3f s: %.0f %% of its speed\n",
              static_cast<unsigned long long>(megabytes), best_of(save), best_of(dd),
              100 * best_of(dd) / best_of(save));
}

// Steps of a training that shares the machine with the writer.
struct Training {
  explicit Training(Device& device) : x(Tensor::full(device, {256, 256}, 0.01)) {}
  void step() { y = ops::matmul(x, x); }
  Tensor x, y;
};

void measure_stall(const fs::path& directory, const NamedTensors& weights, Device& device) {
  CheckpointManager manager(directory / "async", {.max_to_keep = 1, .async = true},
                            [](const std::string& text) { std::puts(text.c_str()); });
  Training training(device);
  const auto steps_in = [&](auto&& goes_on) {
    const double start = steady_seconds();
    std::int64_t steps = 0;
    for (; goes_on(steady_seconds() - start); ++steps) training.step();
    return static_cast<double>(steps) / (steady_seconds() - start);
  };
  const double alone = steps_in([](double seconds) { return seconds < 1; });
  for (int round = 1; round <= kRounds; ++round) {
    manager.begin_save(round,
                       [&](CheckpointWriter& writer) { writer.write_tensors("model", weights); });
    std::vector<SavedCheckpoint> saved;
    const double beside = steps_in([&](double) {
      saved = manager.take_saved();
      return saved.empty();
    });
    std::printf(
        "stall      %.3f s of %.3f s: %.1f %%; meanwhile training at %.0f %% of its speed\n",
        saved[0].stalled, saved[0].seconds, 100 * saved[0].stalled / saved[0].seconds,
        100 * beside / alone);
  }
}

void run(const fs::path& root, std::uint64_t megabytes) {
  const fs::path directory = root / "saving_bench";
  fs::create_directories(directory);
  const auto device = test::open_device(test::backends().back());
  measure_metrics(directory, *device, "");
  if (fs::exists(test::plugin_dir() / "tensorboard.so")) {
    test::use_plugin("tensorboard");
    measure_metrics(directory, *device, "tensorboard/Events");
  }
  const NamedTensors weights = weights_of(megabytes << 20, *device);
  measure_write(directory, weights, megabytes);
  measure_stall(directory, weights, *device);
  fs::remove_all(directory);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2 || count > 3) {
    std::fputs("usage: saving_bench DIRECTORY [MEGABYTES]\n", stderr);
    return 2;
  }
  try {
    run(words[1], count == 3 ? std::strtoull(words[2], nullptr, 10) : 500);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "saving_bench: %s\n", failure.what());
    return 1;
  }
}
