// SPDX-License-Identifier: Apache-2.0
#include "trivet/trainer.h"

namespace trivet {

DivergedError::DivergedError(const DivergedError&) = default;
DivergedError::~DivergedError() = default;

Trainer::~Trainer() = default;
void Trainer::recover(const CheckpointReader& reader) {
  restore(reader);
}
std::vector<TrainingStage> Trainer::stages() const {
  return {TrainingStage{}};
}
Logs Trainer::evaluate_set(std::size_t, std::int64_t) {
  throw Error("this trainer evaluates task.eval_input alone, not task.eval_inputs");
}
std::size_t Trainer::stage() const {
  return 0;
}
void Trainer::next_stage() {
  throw Error("the trainer has one stage and no next one");
}
NamedTensors Trainer::export_tensors() {
  NamedTensors tensors;
  for (const auto& parameter : parameters().parameters()) {
    tensors.emplace_back(parameter->path(), parameter->value());
  }
  return tensors;
}
TrainerObserver::~TrainerObserver() = default;
void TrainerObserver::on_train_tokens(std::int64_t) {}
bool TrainerObserver::wants_summaries() const {
  return false;
}
void TrainerObserver::on_summaries(std::string_view, std::int64_t, const Summaries&) {}
void TrainerObserver::note(const std::string&) {}

void TrainerObserver::warn(const std::string& text) {
  note(text);
}

}  // namespace trivet
