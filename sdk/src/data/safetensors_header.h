// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file, checked against the size of the data after it. Shared by
// reader and writer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/backend/dtype.h"
#include "trivet/tensor/shape.h"

namespace trivet {

// The published limit on the header (huggingface/safetensors, MAX_HEADER_SIZE).
inline constexpr std::uint64_t kSafetensorsMaxHeader = 100'000'000;
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";

struct SafetensorsHeaderEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // bytes, counted from the end of the header
};

struct SafetensorsHeader {
  std::vector<SafetensorsHeaderEntry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

// Throws Error naming `file` and the entry at fault.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& file);

// Elements times their size; nothing when that does not fit 63 bits.
std::optional<std::uint64_t> safetensors_bytes(const Shape& shape, DType dtype);

// What is wrong with the name of an entry, or empty.
std::string safetensors_name_problem(std::string_view name);

// "F32", "BF16", ...
std::string_view safetensors_dtype(DType dtype);

// The name between quotes, cut when it is long, control characters replaced: for messages.
std::string safetensors_quoted(std::string_view name);

}  // namespace trivet
