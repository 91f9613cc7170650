// SPDX-License-Identifier: Apache-2.0
// Writes the weights of a checkpoint as a new one: under other names, of another type, without some
// of them. For task.init_checkpoint, and for programs that read safetensors.
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
};

struct ConvertReport {
  std::int64_t step = 0;
  std::int64_t tensors = 0, renamed = 0, dropped = 0;
  std::int64_t rounded = 0;   // numbers that the type does not have
  std::int64_t overflow = 0;  // numbers beyond the range of the type, infinite now
};

// The write is atomic. Throws UsageError for a pattern that is no regular expression or that
// matches no name, and RunError if `out` exists, two tensors get one name, or the checkpoint has no
// averages.
ConvertReport convert_checkpoint(const std::filesystem::path& out,
                                 const std::filesystem::path& source,
                                 const ConvertOptions& options);

}  // namespace trivet
