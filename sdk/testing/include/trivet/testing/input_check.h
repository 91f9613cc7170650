// SPDX-License-Identifier: Apache-2.0
// Conformance check of an input: whether it keeps what trivet/input.h promises, so that a run may
// stop at any batch, and an evaluation may be repeated.
//
// Example (sdk/examples/snippets/checks.cpp#input):
//
//   const auto make = [] {
//     trivet::InputContext context{.phase = trivet::Phase::evaluation};
//     return std::make_unique<Counted>(Counted::Config{.batch_size = 2}, context);
//   };
//   REQUIRE(trivet::testing::check_input(make, 2) == "");
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trivet/input.h"

namespace trivet::testing {

struct InputCheckOptions {
  std::int64_t batches = 6;  // as many are read, or fewer at the end of the data
  bool resets = true;        // false: a training input, which is never reset
};

// Empty when the input keeps its promises, otherwise a text with a line for each broken one. `make`
// gives inputs of one config. The batches of two of them must have the same bytes, all tensors
// contiguous on the host with `rows` as their first extent, "weight" f32 [rows] without negative
// values. At every batch the state, also through JSON, must continue in a new input and in the same
// one; reset() must start over; at the end of the data no batch may follow, and their number must
// be that of batches_per_epoch(), if there is one and `make` reads one epoch. Throws Error for an
// input without a batch, and what the input throws. [run-thread]
std::string check_input(const std::function<std::unique_ptr<Input>()>& make, std::int64_t rows,
                        const InputCheckOptions& options = {});

}  // namespace trivet::testing
