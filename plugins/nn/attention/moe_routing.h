// SPDX-License-Identifier: Apache-2.0
// Which expert takes which position, on the host. The rules are those of moe_feed_forward.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trivet::nn {

struct Routes {
  // What one choice of every position comes to: the expert, and the slot it was given, or
  // `taken.size()` where it was given none.
  struct Choice {
    std::vector<std::int32_t> experts, slots;
  };
  // The position in each slot, or the number of positions for an empty one. Expert e has the slots
  // from e * slots_per_expert on.
  std::vector<std::int32_t> taken;
  std::int64_t slots_per_expert = 0;
  std::vector<Choice> choices;
};

// What is to be routed: gates [positions, experts], in `groups` groups of the same size; padding
// [positions] is 1 for positions that take no part, or empty.
struct Gates {
  std::span<const float> values;
  std::span<const float> padding;
  std::int64_t positions = 0, experts = 0, groups = 1;
};

// A negative capacity bounds nothing. Of equal gates the first is the larger.
Routes top2_routes(const Gates& gates, std::int64_t capacity);
Routes expert_choice_routes(const Gates& gates, std::int64_t capacity);

}  // namespace trivet::nn
