// SPDX-License-Identifier: Apache-2.0
// Writes the weights of a checkpoint as a new one: under other names, of another type, as integers,
// without some of them. For task.init_checkpoint, and for programs that read safetensors. Quantized
// weights of the source are f32 unless they are quantized again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trivet/backend/dtype.h"

namespace trivet {

struct ConvertOptions {
  struct Rename {
    std::string pattern;  // matches whole names; a regular expression (ECMAScript)
    std::string name;     // $1 is the pattern's first group
  };
  std::vector<Rename> rename{};     // the first that matches counts
  std::vector<std::string> drop{};  // patterns of whole names, before they are renamed
  std::optional<DType> dtype{};     // f32, bf16 or f16, of the tensors that are floats
  bool averages = false;            // moving averages instead of the weights
  // 8 or 4 bits of the integers of quantized weights (trivet/data/quantized_weights.h); 0: none.
  int quantize = 0;
  // Patterns of whole names, before they are renamed: what is quantized (empty: all floats with at
  // least two axes), and which of that has scales of rows instead of columns.
  std::vector<std::string> quantize_only{}, quantize_rows{};
};

struct ConvertReport {
  std::int64_t step = 0;
  std::int64_t tensors = 0, renamed = 0, dropped = 0, quantized = 0;  // scales do not count
  std::int64_t rounded = 0;   // numbers that the type does not have
  std::int64_t overflow = 0;  // numbers beyond the range of the type, infinite now
};

// The write is atomic. Throws UsageError for a pattern that is no regular expression or that
// matches no name (of quantize_rows: no quantized one), and RunError if `out` exists, two tensors
// get one name, the checkpoint has no averages, or a weight to quantize is not finite or no matrix.
ConvertReport convert_checkpoint(const std::filesystem::path& out,
                                 const std::filesystem::path& source,
                                 const ConvertOptions& options);

}  // namespace trivet
