// SPDX-License-Identifier: Apache-2.0
#include "trivet/trainer.h"

#include <algorithm>

#include "trivet/train/checkpoint.h"

namespace trivet {
namespace {

bool is_plain_name(const std::string& name) {
  constexpr std::string_view kOther = "_-.";
  return !name.starts_with('.') && std::ranges::all_of(name, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOther.find(c) != std::string_view::npos;
  });
}

}  // namespace

void TrainerConfig::check_checkpoints(Diagnostics& diagnostics) const {
  const std::string& subdir = checkpoint_todelete_subdir;
  if (!is_plain_name(subdir) || subdir.starts_with("step_")) {
    diagnostics.add("checkpoint_todelete_subdir", "'" + subdir + "' is not a name for the folder",
                    "use letters, digits, '_', '-' and '.', first none of \".\" and \"step_\"");
  }
  if (!subdir.empty() && max_to_keep == 0) {
    diagnostics.add("checkpoint_todelete_subdir", "has no effect: max_to_keep = 0 keeps all");
  }
  if (save_checkpoints) return;
  const auto needs = [&](const char* field) {
    diagnostics.add(field, "needs checkpoints, and save_checkpoints is false",
                    "set trainer.save_checkpoints = true, or leave this out");
  };
  if (!best_checkpoint.metric.empty()) needs("best_checkpoint.metric");
  if (keep_checkpoint_every.steps > 0 || keep_checkpoint_every.time.seconds > 0) {
    needs("keep_checkpoint_every");
  }
  if (checkpoint_at_start) needs("checkpoint_at_start");
  if (!subdir.empty()) needs("checkpoint_todelete_subdir");
  if (recovery == Recovery::restore && recovery_max_trials > 0) needs("recovery_max_trials");
}

DivergedError::DivergedError(const DivergedError&) = default;
DivergedError::~DivergedError() = default;

Trainer::~Trainer() = default;
void Trainer::recover(const CheckpointReader& reader) {
  restore(reader);
}
bool Trainer::shares_updates() const {
  return false;
}
bool Trainer::shares_weights() const {
  return false;
}

bool Trainer::trains_shards() const {
  return false;
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
