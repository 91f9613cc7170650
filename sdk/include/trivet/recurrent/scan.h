// SPDX-License-Identifier: Apache-2.0
// Reads a sequence position by position, with a state that each position updates.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trivet/tensor.h"

namespace trivet {

using RecurrentState = std::vector<Tensor>;  // each [B, ..]

// How positions are read. The marks carry no gradient.
struct ScanOptions {
  bool reverse = false;  // from the last position to the first
  Tensor starts{};       // f32 [B, T]: at 1 the state is 0 before the position; undefined: none
  Tensor paddings{};     // f32 [B, T]: at 1 the position leaves the state as it is
};

// The state after position t, from its input x [B, ..] and the state before it.
using ScanStep =
    std::function<RecurrentState(const Tensor& x, const RecurrentState& before, std::int64_t t)>;

#pragma GCC visibility push(default)  // TRIVET_API for all of them
namespace ops {

// Calls step for each position of x [B, T, n], T >= 1. `state` is that before all of them, and
// becomes the state after all of them. Returns the first tensor of the states, [B, n'] each, as [B,
// T, n'].
Tensor scan(const Tensor& x, RecurrentState& state, const ScanOptions& options,
            const ScanStep& step);

}  // namespace ops
#pragma GCC visibility pop
}  // namespace trivet
