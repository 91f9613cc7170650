// SPDX-License-Identifier: Apache-2.0
// Formats batches as text.
#pragma once

#include <cstdint>

#include "trivet/config/value.h"
#include "trivet/extensions/text.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

// [{name = "ids", shape = "i32 [8, 256]"}, ...]
Value batch_fields(const Batch& batch);

// The first rows of a batch, `most` at most, a table each: of an input of text the texts that it
// names, every segment of them, and the numbers of what they do not tell, such as a label or tags;
// of any other (null) the numbers of every field as one text. Rows of weight 0 are left out.
Value batch_rows(const Batch& batch, const TextInput* input, std::int64_t most);

}  // namespace trivet
