// SPDX-License-Identifier: Apache-2.0
// A problem small enough to compute by hand, registered as the plugin "parts": y = x * w on a few
// numbers, trained with momentum. Every part records its calls.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "train/default_trainer.h"
#include "trivet/input.h"
#include "trivet/task.h"
#include "trivet/train/checkpoint.h"
#include "trivet/trainer.h"

namespace trivet::test {

// The calls in order since the last clear. Thread-safe.
class Journal {
 public:
  void add(const std::string& what);
  void clear();
  std::string text() const;  // one blank between entries

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> entries_;
};
Journal& journal();

// How often a product too small for a normal number was kept as a denormal: in steps (on their own
// thread and on the device's pool) and while reading inputs, since the start of the process.
struct DenormalsKept {
  std::atomic<int> step{0}, pool{0}, input{0};
};
DenormalsKept& denormals_kept();

struct CountConfig : InputConfig {
  std::int64_t batches = 0;
  std::int64_t fail_at = -1;
  std::int64_t padding = 0;  // padding rows of the last batch
  std::int64_t nan_at = -1;
};
TRIVET_CONFIG(CountConfig, InputConfig,
              (batches, "Batches of a pass; 0: without end, -1: none at all."),
              (fail_at, "The batch at which reading fails."),
              (padding, "Padded rows of the last batch."),
              (nan_at, "The batch whose y are no numbers."))

// Batch i has x = (i % 7) + row / 4 and y = 3 x.
class CountInput final : public Input {
 public:
  using Config = CountConfig;
  CountInput(Config config, InputContext& context);

  std::optional<Batch> get_next() override;
  void reset() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  std::optional<std::int64_t> batches_per_epoch() const override;

 private:
  Config config_;
  std::string name_;
  std::int64_t next_ = 0;
};

struct LineTaskConfig : TaskConfig {
  double explode_at = -1;  // the step (from 1) whose loss is not a number
  bool throws = false;
  bool unmerged_logs = false;
};
TRIVET_CONFIG(LineTaskConfig, TaskConfig, (explode_at, "Step whose loss is not a number."),
              (throws, "The step throws a std::exception."),
              (unmerged_logs, "The logs of evaluations cannot be merged."))

// Registers all items above once per process. A second call does nothing.
void register_parts();

// A config that trains. Tests change single fields.
TrainerConfig trainer_config();
ConfigOf<Task> task_config(Value train_input = {}, Value eval_input = {});
// The first with one more field of LineTaskConfig.
ConfigOf<Task> task_with(std::string_view field, Value value);

std::unique_ptr<Device> open_tiny(int threads = 1);

// Never stops unless configured. Counts calls.
class TestObserver : public TrainerObserver {
 public:
  bool wants_loss() const override { return true; }
  void on_train_step(std::int64_t step, double loss, std::int64_t examples) override;
  void on_eval_step(std::int64_t step, std::int64_t examples) override;
  void note(const std::string& text) override { notes += text + "\n"; }
  bool stop_requested() const override { return stop_after >= 0 && asked++ >= stop_after; }

  std::vector<double> losses;
  std::string notes;
  std::int64_t train_examples = 0, eval_examples = 0, last_step = 0;
  std::int64_t stop_after = -1;  // requests a stop in the n-th call, from 0
  mutable std::int64_t asked = 0;
};

// A checkpoint in memory.
class MemoryCheckpoint final : public CheckpointWriter, public CheckpointReader {
 public:
  void write_tensors(std::string_view name, const NamedTensors& tensors) override;
  void state(std::string_view key, const Value& value) override;
  void read_tensors(std::string_view name, NamedTensors& into, OtherTensors others) const override;
  bool has_state(std::string_view key) const override;
  const Value& state(std::string_view key) const override;
  std::string description() const override { return "memory"; }

  std::map<std::string, std::map<std::string, std::vector<std::byte>>> files;
  Value states = Value::table();
};

// A default trainer with its parts.
class TrainerBench {
 public:
  explicit TrainerBench(TrainerConfig config = trainer_config(),
                        const ConfigOf<Task>& task_template = task_config(), bool train = true,
                        bool eval = true, int threads = 1, const MeshConfig& mesh = {});

  double weight(const char* path) const;
  MemoryCheckpoint save() const;

  std::unique_ptr<Device> device;
  std::unique_ptr<Task> task;
  TestObserver observer;
  std::unique_ptr<DefaultTrainer> trainer;
};

}  // namespace trivet::test
