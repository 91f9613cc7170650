// SPDX-License-Identifier: Apache-2.0
// OverlapTuner: chooses the overlap of a run (MeshConfig::overlap) from a profile of its first
// steps, or from one that is known. Rank 0 decides, and all processes take it between the same two
// steps. The bits of the run do not depend on it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "device/exchange_profile.h"
#include "device/overlap_choice.h"
#include "processes/world.h"
#include "trivet/tensor/device.h"

namespace trivet {

// What a run trains with, and why.
struct ChosenOverlap {
  ExchangeProfile profile{};
  OverlapChoice choice{};
  // Steps of this process that were measured; 0: the profile was known.
  std::int64_t first_step = 0, last_step = 0;
  bool is_limited = false;  // more of them would need more than runtime.memory_limit
};

class OverlapTuner {
 public:
  // Of rank 0.
  struct Lead {
    std::optional<ExchangeProfile> known{};
    // Once it is chosen, unless steps exchange no units.
    std::function<void(const ChosenOverlap&)> on_choice{};
  };
  // `memory_limit` is that of the device in bytes; 0: none.
  OverlapTuner(World& world, Device& device, std::uint64_t memory_limit, Lead lead);

  // At each step boundary of all processes, and after each step of training. [run-thread]
  void before_step();
  void after_step();

 private:
  void decide();
  void set_overlap(std::int64_t count);

  World& world_;
  Device& device_;
  const std::uint64_t memory_limit_;
  const Lead lead_;
  std::int64_t steps_ = 0;  // of this process
  bool is_measuring_ = false, is_done_ = false;
  double step_begin_ = 0;
  std::vector<MeasuredStep> measured_;
};

}  // namespace trivet
