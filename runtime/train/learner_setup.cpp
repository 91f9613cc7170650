// SPDX-License-Identifier: Apache-2.0
#include "train/learner_setup.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "step/step_parts.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// Whether variables that no entry of `learners` matches have an optimizer.
bool has_main(const TrainerConfig& config) {
  return config.optimizer.has_value() || config.learners.empty();
}

}  // namespace

void check_learner(const TrainerConfig& trainer, const ConfigOf<Input>& train_input) {
  const bool all_have_rates =
      std::all_of(trainer.learners.begin(), trainer.learners.end(),
                  [](const LearnerConfig& learner) { return learner.learning_rate.has_value(); });
  if (!trainer.learning_rate.has_value() && (has_main(trainer) || !all_have_rates)) {
    throw ConfigError(Diagnostic{.path = "trainer.learning_rate",
                                 .what = "training requires it, but it is not set",
                                 .hint = "for example learning_rate = 0.001"});
  }
  const Value* set = train_input.fields().find("batch_size");
  const std::int64_t batch = set != nullptr ? set->as_integer() : InputConfig{}.batch_size;
  if (batch % trainer.gradient_accumulation == 0) return;
  const std::string input = train_input.path().empty() ? "task.train_input" : train_input.path();
  throw ConfigError(
      Diagnostic{.path = "trainer.gradient_accumulation",
                 .what = fmt::format("{}.batch_size = {} cannot be cut into {} equal parts", input,
                                     batch, trainer.gradient_accumulation),
                 .hint = "choose a divisor of the batch size"});
}

bool has_gradients_in_parts(const TrainerConfig& config, std::int64_t own_shards) {
  return own_shards == 1 && config.gradient_accumulation == 1 && !needs_all_gradients(config);
}

// Noise on all weights takes no exchange where each process draws it.
bool exchanges_units(const TrainerConfig& config) {
  return config.gradient_accumulation == 1 && !needs_all_gradients(config) &&
         config.variational_noise.scale <= 0;
}

bool needs_all_gradients(const TrainerConfig& config) {
  return config.gradient_clip.each_part || config.summary_histograms;
}

LearnerParts learner_parts(const TrainerConfig& config, Task& task) {
  std::vector<LearnerRule> rules;
  if (has_main(config)) {
    rules.push_back({.optimizer = create_optimizer(task, config.optimizer),
                     .learning_rate = make(config.learning_rate)});
  }
  for (const LearnerConfig& learner : config.learners) {
    rules.push_back(
        {.name = learner.name,
         .variables = Patterns(learner.variables),
         .optimizer = create_optimizer(task, learner.optimizer),
         .learning_rate = make(learner.learning_rate.has_value() ? learner.learning_rate
                                                                 : config.learning_rate)});
  }
  return {.rules = std::move(rules),
          .options = {.clip = config.gradient_clip,
                      .ema = config.ema,
                      .variational_noise = config.variational_noise,
                      .gradient_noise = config.gradient_noise,
                      .skip_bad_updates =
                          config.recovery_max_trials > 0 || config.gradient_norm_upper_bound > 0}};
}

}  // namespace trivet
