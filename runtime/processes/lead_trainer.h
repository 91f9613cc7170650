// SPDX-License-Identifier: Apache-2.0
// How the processes of a run work together: rank 0 leads. It alone has the run's directory, loop
// and records. Each call of its trainer is made by the trainers of all processes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "processes/world.h"
#include "trivet/train/trainer_decorator.h"

namespace trivet {

class PartSaver;
struct Order;

// The trainer of rank 0. The other processes must be in follow().
class LeadTrainer final : public TrainerDecorator {
 public:
  LeadTrainer(std::unique_ptr<Trainer> inner, World& world);

  void train(std::int64_t target) override;
  Logs train_logs() override;
  Logs evaluate(std::int64_t steps) override;
  Logs evaluate_set(std::size_t set, std::int64_t steps) override;
  void initialize() override;
  void save(CheckpointWriter& writer) override;
  void restore(const CheckpointReader& reader) override;
  void recover(const CheckpointReader& reader) override;
  void next_stage() override;
  NamedTensors export_tensors() override;

  // The others return from follow().
  void end();

 private:
  template <class Call>
  auto with_all(const Order& order, const Call& call);

  World& world_;
};

// On the other processes: makes the calls of rank 0 until its end(), of which `saver` makes save().
// Calls inside of steps wait for `timeout` seconds. Throws what a call throws, but DivergedError,
// after which rank 0 continues.
void follow(Trainer& trainer, World& world, PartSaver& saver, double timeout);

// What each process tells the others before a step, when its trainer asks for a stop.
struct StepRecord {
  std::int64_t stops = 0;     // 1: it is to stop or pause
  double cpu_seconds = 0;     // of the process so far
  double waited_seconds = 0;  // inside of steps, for others
  std::int64_t report_bytes =
      0;  // of its report of a save (PartSaver), which it has sent to rank 0
};
// Of all processes, in the order of ranks. All make this call.
std::vector<StepRecord> exchange_records(World& world, const StepRecord& mine);
bool any_stops(const std::vector<StepRecord>& records);

}  // namespace trivet
