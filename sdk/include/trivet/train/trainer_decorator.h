// SPDX-License-Identifier: Apache-2.0
// TrainerDecorator: a trainer that works as another one, but for what it overrides. The other one
// is usually "trivet/Trainer", the trainer of a run that names none: its steps, sums, averages,
// recovery and saved state are then those of any run.
//
// Example (sdk/examples/trainer.h#class):
//
//   struct ZeroStartConfig : trivet::TrainerConfig {
//     std::vector<std::string> zero;
//
//     void validate(trivet::Diagnostics& diagnostics) const {
//       TrainerConfig::validate(diagnostics);
//       check_patterns(diagnostics, "zero", zero);
//     }
//   };
//   TRIVET_CONFIG(ZeroStartConfig, trivet::TrainerConfig,
//                 (zero, "Patterns of the whole paths of variables that start at 0.", required))
//
//   class ZeroStart final : public trivet::TrainerDecorator {
//    public:
//     using Config = ZeroStartConfig;
//     ZeroStart(const Config& config, trivet::TrainerContext& context)
//         : TrainerDecorator(trivet::default_trainer(config, context)), zero_(config.zero) {}
//
//     void initialize() override {
//       TrainerDecorator::initialize();
//       for (const auto& parameter : parameters().parameters()) {
//         if (!zero_.matches(parameter->path())) continue;
//         const trivet::Tensor& value = parameter->value();
//         parameter->assign(trivet::Tensor::zeros(value.device(), value.shape()));
//       }
//     }
//
//    private:
//     trivet::Patterns zero_;
//   };
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "trivet/plugin/registry.h"
#include "trivet/trainer.h"

namespace trivet {

// The trainer "trivet/Trainer" with these fields; those that a derived config adds are not its. The
// context is consumed, as that of any trainer.
inline std::unique_ptr<Trainer> default_trainer(const TrainerConfig& config,
                                                TrainerContext& context) {
  return make(ConfigOf<Trainer>("trivet/Trainer", encode(config)), context);
}

class TRIVET_API TrainerDecorator : public Trainer {
 public:
  std::int64_t global_step() const override { return inner_->global_step(); }
  void train(std::int64_t target) override { inner_->train(target); }
  Logs train_logs() override { return inner_->train_logs(); }
  bool exhausted() const override { return inner_->exhausted(); }
  Logs evaluate(std::int64_t steps) override { return inner_->evaluate(steps); }
  Logs evaluate_set(std::size_t set, std::int64_t steps) override {
    return inner_->evaluate_set(set, steps);
  }
  void initialize() override { inner_->initialize(); }
  void save(CheckpointWriter& writer) override { inner_->save(writer); }
  void restore(const CheckpointReader& reader) override { inner_->restore(reader); }
  void recover(const CheckpointReader& reader) override { inner_->recover(reader); }
  bool trains_shards() const override { return inner_->trains_shards(); }
  bool shares_updates() const override { return inner_->shares_updates(); }
  bool shares_weights() const override { return inner_->shares_weights(); }
  std::vector<TrainingStage> stages() const override { return inner_->stages(); }
  std::size_t stage() const override { return inner_->stage(); }
  void next_stage() override { inner_->next_stage(); }
  ParameterStore& parameters() override { return inner_->parameters(); }
  NamedTensors export_tensors() override { return inner_->export_tensors(); }

 protected:
  explicit TrainerDecorator(std::unique_ptr<Trainer> inner) : inner_(std::move(inner)) {}
  Trainer& inner() { return *inner_; }

 private:
  std::unique_ptr<Trainer> inner_;
};

}  // namespace trivet
