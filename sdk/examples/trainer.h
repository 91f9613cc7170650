// SPDX-License-Identifier: Apache-2.0
// ZeroStart: trains as "trivet/Trainer" does, but some variables start at 0, such as the last layer
// of each residual branch (Goyal et al. 2017).
#pragma once

#include <string>
#include <vector>

#include <trivet/config/patterns.h>
#include <trivet/train/trainer_decorator.h>

namespace acme {

// [class]
struct ZeroStartConfig : trivet::TrainerConfig {
  std::vector<std::string> zero;

  void validate(trivet::Diagnostics& diagnostics) const {
    TrainerConfig::validate(diagnostics);
    check_patterns(diagnostics, "zero", zero);
  }
};
TRIVET_CONFIG(ZeroStartConfig, trivet::TrainerConfig,
              (zero, "Patterns of the whole paths of variables that start at 0.", required))

class ZeroStart final : public trivet::TrainerDecorator {
 public:
  using Config = ZeroStartConfig;
  ZeroStart(const Config& config, trivet::TrainerContext& context)
      : TrainerDecorator(trivet::default_trainer(config, context)), zero_(config.zero) {}

  void initialize() override {
    TrainerDecorator::initialize();
    for (const auto& parameter : parameters().parameters()) {
      if (!zero_.matches(parameter->path())) continue;
      const trivet::Tensor& value = parameter->value();
      parameter->assign(trivet::Tensor::zeros(value.device(), value.shape()));
    }
  }

 private:
  trivet::Patterns zero_;
};
// [/class]

}  // namespace acme
