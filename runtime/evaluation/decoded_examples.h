// SPDX-License-Identifier: Apache-2.0
// The texts that a task writes for the examples of a batch, checked, and their columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trivet/config/value.h"
#include "trivet/extensions/batch_decoder.h"
#include "trivet/task.h"
#include "trivet/tensor/random.h"

namespace trivet {

// BatchDecodeOptions::seed of a run, from the key of its seed: the same texts in all commands.
inline std::uint64_t decode_seed(RngKey run) {
  return run.fold("decode").value();
}

// One entry for each row; nothing for a row of weight 0. Every entry has texts, and a score for
// each. `decoder` is the task's. Throws PluginError if the task breaks these rules.
std::vector<std::optional<DecodedExample>> decoded_examples(Task& task, const BatchDecoder& decoder,
                                                            const Batch& batch, Model& model,
                                                            const BatchDecodeOptions& options);

// "prompt", "decoded" (a text, or a list of several), "score" or "scores", and "references" if
// there are some.
Value columns_of(const DecodedExample& example);

}  // namespace trivet
