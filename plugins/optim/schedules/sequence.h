// SPDX-License-Identifier: Apache-2.0
// Schedules one after another. Schedule i is used from boundaries[i - 1] on, the first one from
// step 0; at a boundary the next one counts, as in Praxis.
//
// With count_from = "boundary" each schedule gets the steps since its boundary: Praxis'
// PiecewiseSchedule. With "start" each gets the step of the training: schedules that were cut out
// of longer ones.
//
// With cycle_steps the order starts again after so many steps: in cycle k the boundaries are those
// above plus k * cycle_steps, and "boundary" counts from them. "start" is then Praxis'
// CycleSchedule.
//
//   learning_rate = { type = "optim/Sequence", boundaries = [1000], schedules = [
//       { type = "optim/Linear", initial_value = 0.0, final_value = 0.1, decay_steps = 1000 },
//       { type = "optim/Cosine", initial_value = 0.1, decay_steps = 9000 } ] }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trivet/config/config_of.h"
#include "trivet/schedule.h"

namespace trivet::optim {

enum class CountFrom { boundary, start };
TRIVET_ENUM(CountFrom, boundary, start)

struct SequenceConfig : ScheduleConfig {
  std::vector<ConfigOf<Schedule>> schedules;
  std::vector<std::int64_t> boundaries;
  CountFrom count_from = CountFrom::boundary;
  std::optional<std::int64_t> cycle_steps;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(SequenceConfig, trivet::ScheduleConfig,
              (schedules, "Schedules, in the order of their use.", required),
              (boundaries, "Steps at which the next schedule begins, rising.", at_least(1)),
              (count_from,
               "Step that is 0 for each schedule: its boundary, or the start of the training."),
              (cycle_steps, "Number of steps after which the first schedule begins again.",
               at_least(1)))

class Sequence final : public Schedule {
 public:
  using Config = SequenceConfig;
  explicit Sequence(const Config& config);
  double value(std::int64_t step) const override;

 private:
  std::vector<std::unique_ptr<Schedule>> schedules_;
  std::vector<std::int64_t> boundaries_;
  CountFrom count_from_;
  std::optional<std::int64_t> cycle_steps_;
};

}  // namespace trivet::optim
