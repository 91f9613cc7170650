// SPDX-License-Identifier: Apache-2.0
// Routes positions to experts, on the host, by the rules of moe_feed_forward.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trivet/config.h"

namespace trivet::nn {

struct Routes {
  // One choice per position: the expert, and its slot there, or `taken.size()` if the expert is
  // full.
  struct Choice {
    std::vector<std::int32_t> experts, slots;
  };
  // The position in each slot, or the number of positions for an empty slot. Expert e owns the
  // slots from e * slots_per_expert on.
  std::vector<std::int32_t> taken;
  std::int64_t slots_per_expert = 0;
  std::vector<Choice> choices;
};

// The routing problem: gates [positions, experts], in `groups` groups of equal size. padding
// [positions] is 1 for positions to skip, or empty.
struct Gates {
  std::span<const float> values;
  std::span<const float> padding;
  std::int64_t positions = 0, experts = 0, groups = 1;
};

enum class SecondExpertPolicy { all, sampling, random };
TRIVET_ENUM(SecondExpertPolicy, all, sampling, random)

// How the second expert of a position is chosen.
struct SecondExpert {
  SecondExpertPolicy policy = SecondExpertPolicy::all;
  // Numbers in [0, 1): [positions, experts] for sampling, [positions] for random, else empty.
  std::span<const float> uniforms{};
  float threshold = 0;
};

// A negative capacity means no limit. Of equal gates the first wins.
Routes top2_routes(const Gates& gates, std::int64_t capacity, const SecondExpert& second = {});
Routes expert_choice_routes(const Gates& gates, std::int64_t capacity);

}  // namespace trivet::nn
