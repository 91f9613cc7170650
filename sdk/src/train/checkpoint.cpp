// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/checkpoint.h"

#include <charconv>

#include <fmt/core.h>

namespace trivet {
namespace {

constexpr std::string_view kStepPrefix = "step_";

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return fmt::format("{}{:08}", kStepPrefix, step);
}

std::optional<std::int64_t> parse_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kStepPrefix.size(), end, step);
  if (error != std::errc() || stop != end || step < 0) return std::nullopt;
  return checkpoint_name(step) == name ? std::optional(step) : std::nullopt;
}

// Out of line, so that the class has one vtable and one type information in the process.
CheckpointWriter::~CheckpointWriter() = default;
CheckpointReader::~CheckpointReader() = default;

}  // namespace trivet
