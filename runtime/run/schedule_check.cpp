// SPDX-License-Identifier: Apache-2.0
#include "run/schedule_check.h"

#include <algorithm>

#include <fmt/core.h>

namespace trivet {
namespace {

// Checks only the start of very long trainings, which would take noticeable time.
constexpr std::int64_t kMostProbedSteps = 1'000'000;

bool only_rises(const Schedule& rate, std::int64_t train_steps) {
  if (train_steps < 2 || rate.value(train_steps - 1) <= rate.value(train_steps - 2)) return false;
  for (std::int64_t step = 1; step < std::min(train_steps, kMostProbedSteps); ++step) {
    if (rate.value(step) < rate.value(step - 1)) return false;
  }
  return true;
}

// The first step from which the rate stays 0. train_steps if there is none.
std::int64_t end_of(const Schedule& rate, std::int64_t train_steps) {
  std::int64_t first = train_steps;
  while (first > 0 && rate.value(first - 1) == 0) --first;
  return first;
}

}  // namespace

std::string schedule_warning(const Schedule& rate, std::int64_t train_steps) {
  const std::int64_t end = end_of(rate, train_steps);
  if (end < train_steps) {
    return fmt::format(
        "the learning rate is 0 from step {} on, but training ends at step {}: "
        "trainer.learning_rate is at its end",
        end, train_steps);
  }
  if (!only_rises(rate, train_steps)) return {};
  return fmt::format(
      "the learning rate still rises at the last step, {}: the warm-up of trainer.learning_rate "
      "takes all of the training",
      train_steps - 1);
}

}  // namespace trivet
