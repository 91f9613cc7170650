// SPDX-License-Identifier: Apache-2.0
// Evaluation: the part of a trainer that evaluates a model on a task's evaluation data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "trivet/trainer.h"

namespace trivet {

class Evaluation {
 public:
  // Builds the metrics and the input. The task must outlive this object.
  Evaluation(Task& task, const ConfigOf<Input>& input, ValidationData data);
  ~Evaluation();

  // Evaluates `steps` batches (-1: all), starting as ValidationData defines. Empty if the observer
  // requested a stop. Summaries for `context` are those of the first batch. Throws InputError if
  // there is no batch.
  Logs run(Model& model, ParameterStore& store, const FpropContext& context, std::int64_t steps,
           TrainerObserver& observer);

  // The position at which the next evaluation starts.
  Value save_state() const { return input_->save_state(); }
  void restore_state(const Value& state);

 private:
  std::optional<Batch> next();
  Task& task_;
  const ConfigOf<Input> config_;
  Metrics metrics_;
  std::unique_ptr<Input> input_;
  ValidationData data_;
  bool used_ = false;  // the input has given batches
};

}  // namespace trivet
