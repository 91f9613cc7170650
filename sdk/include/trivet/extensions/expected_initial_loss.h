// SPDX-License-Identifier: Apache-2.0
// How a task says what the loss of untrained weights should be about, so that `trivet check` can
// tell a model that starts out wrong (labels that do not fit, logits that are far too large, a sum
// where a mean was meant) from one that is untrained. The task derives from ExpectedInitialLoss,
// too.
//
// Example (sdk/examples/snippets/task_extensions.cpp#expected_initial_loss):
//
//   const void* extension(std::string_view id) const noexcept override {
//     if (id != kTaskExpectedInitialLoss) return nullptr;
//     return static_cast<const ExpectedInitialLoss*>(this);
//   }
//   Range expected_initial_loss() const override { return chance_of(num_classes_); }
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace trivet {

// Id for Task::extension; what it returns points to a ExpectedInitialLoss.
inline constexpr std::string_view kTaskExpectedInitialLoss = "trivet.task.expected_initial_loss/1";

class ExpectedInitialLoss {
 public:
  struct Range {
    double low = 0, high = 0;
    std::string reason;  // "ln(10) = 2.30 for 10 classes"
  };
  // Of the training loss before the first update. [run-thread]
  virtual Range expected_initial_loss() const = 0;

 protected:
  ~ExpectedInitialLoss() = default;
};

// For softmax cross entropy: who knows nothing loses ln(classes). Logits of independent normal
// noise with standard deviation s lose about s^2 / 2 more, so the range ends two above it, at s =
// 2; less than half of it is more than untrained weights can know.
inline ExpectedInitialLoss::Range chance_of(std::int64_t classes) {
  const double chance = std::log(static_cast<double>(classes));
  char text[80];
  std::snprintf(text, sizeof text, "ln(%lld) = %.2f for %lld classes",
                static_cast<long long>(classes), chance, static_cast<long long>(classes));
  return {chance / 2, chance + 2, text};
}

}  // namespace trivet
