// SPDX-License-Identifier: Apache-2.0
//
// Formats batches as text.
#pragma once

#include <cstdint>

#include "trivet/config/value.h"
#include "trivet/extensions/text.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

// [{name = "ids", shape = "i32 [8, 256]"}, ...]
Value batch_fields(const Batch& batch);

// Returns the first rows of a batch, at most `most`, as a table each. For text inputs with a known
// tokenizer: the text of every segment under "text", or "source" and "target", and the numbers of
// the other fields, such as labels or tags. For other inputs: the numbers of every field as one
// string. Skips rows of weight 0.
Value batch_rows(const Batch& batch, const TextInput* text, std::int64_t most);

}  // namespace trivet
