// SPDX-License-Identifier: Apache-2.0
// Program: what a run does with each batch of an evaluation data set (EvalProgram of
// train/eval_input.h), and the numbers at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "step/shard_metrics.h"
#include "trivet/backend/process_group.h"
#include "trivet/config/value.h"
#include "trivet/task.h"

namespace trivet {

// Takes the columns of one example for the outputs of the program.
using TakeOutput = std::function<void(std::int64_t example, Value columns)>;

// One batch for a program.
struct ProgramStep {
  Model& model;
  ParameterStore& store;
  FpropContext& context;
  // The number of the batch's first row in the data set.
  std::int64_t first_example = 0;
  const TakeOutput& take_output;  // empty if nobody wants outputs
};

class Program {
 public:
  virtual ~Program() = default;
  // Forgets all batches.
  virtual void begin() = 0;
  virtual void add(const Batch& batch, const ProgramStep& step) = 0;
  // The numbers since begin().
  virtual Logs result(std::int64_t global_step) = 0;
  // Whether all processes run the same ops with each batch, as in a step of training. Otherwise
  // each has all weights.
  virtual bool runs_alike() const { return false; }
};

struct ProgramOptions {
  std::uint64_t seed = 0;             // of texts that are drawn
  ShardRange shards{};                // of the mesh, those of this process
  ProcessGroup* processes = nullptr;  // that have the others; null: none
};

// Of one of task.eval_inputs, at `path` in the config; null: the evaluation of task.eval_input.
// Throws ConfigError if the task cannot do what the program needs. The task must outlive it.
std::unique_ptr<Program> make_program(Task& task, const EvalInputConfig* set,
                                      const std::string& path, const ProgramOptions& options);

}  // namespace trivet
