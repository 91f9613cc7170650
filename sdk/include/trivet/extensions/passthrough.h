// SPDX-License-Identifier: Apache-2.0
// Texts of a batch's examples that no model sees, such as their names in the data: an input puts
// them into its batches, and evaluations with outputs and `trivet predict` write them beside what a
// task says about the example.
//
// Example (sdk/examples/snippets/input_extensions.cpp#passthrough):
//
//   batch.set(std::string(kPassthrough) + "/id", passthrough_texts(ids));  // one text a row
//
// They are bytes, u8 [B, W], that end with zeros, so a text has no NUL.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config/value.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

// The fields of a batch below this name are such texts.
inline constexpr std::string_view kPassthrough = "passthrough";

// u8 [texts, W] on the host, W the length of the longest, at least 1. Throws InputError for a text
// with a NUL, or that is not UTF-8, which outputs could not hold.
TRIVET_API Tensor passthrough_texts(std::span<const std::string> texts);

// A table of the texts of a row; null where the batch has none. The batch is on the host.
TRIVET_API Value passthrough_of(const Batch& batch, std::int64_t row);

}  // namespace trivet
