// SPDX-License-Identifier: Apache-2.0
// Evaluation: a data set for evaluations with its program: task.eval_input, or one of
// task.eval_inputs or of those of a task that the run's is made of.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "evaluation/eval_sets.h"
#include "evaluation/example_outputs.h"
#include "evaluation/program.h"
#include "trivet/trainer.h"

namespace trivet {

class Evaluation {
 public:
  // Builds the program and the input of `set`; `input` is the input's config. The task, which is
  // the whole one, must outlive this object.
  Evaluation(Task& whole, EvalSet set, const ConfigOf<Input>& input, ValidationData data,
             const ProgramOptions& options);
  ~Evaluation();

  // Runs the program, with the model of the whole task, on `steps` batches (-1: all), starting as
  // ValidationData defines; all batches always start with the first. Empty if the observer
  // requested a stop. Summaries for `context` are those of the first batch. Throws InputError if
  // there is no batch.
  Logs run(Model& model, ParameterStore& store, const FpropContext& context, std::int64_t steps,
           TrainerObserver& observer);
  // Program::runs_alike.
  bool runs_alike() const { return program_->runs_alike(); }

  // The position at which the next evaluation starts.
  Value save_state() const { return input_->save_state(); }
  void restore_state(const Value& state);

 private:
  std::optional<Batch> next(bool continues);
  std::int64_t first_example(const Batch& batch, std::int64_t done) const;

  Task& whole_;
  const EvalSet set_;
  const std::string path_;  // of the input in the config
  const ConfigOf<Input> config_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Input> input_;
  std::unique_ptr<ExampleOutputs> outputs_;  // null if none are written
  ValidationData data_;
  bool used_ = false;  // the input may not be at its start
};

}  // namespace trivet
