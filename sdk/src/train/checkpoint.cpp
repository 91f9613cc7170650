// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/checkpoint.h"

#include <charconv>
#include <cstddef>
#include <span>

#include <fmt/core.h>

#include "trivet/error.h"
#include "trivet/tensor/tensor_part.h"

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

bool CheckpointWriter::takes_parts() const {
  return false;
}

void CheckpointWriter::write_parts(std::string_view name, const std::vector<TensorPart>&) {
  throw Error(fmt::format("this checkpoint takes whole tensors, and got parts of \"{}\"", name));
}

void CheckpointReader::read_parts(std::string_view name, const std::vector<TensorPart>& into,
                                  OtherTensors others) const {
  NamedTensors whole;
  for (const TensorPart& part : into) {
    whole.emplace_back(part.name, Tensor::host(part.shape, part.dtype()));
  }
  read_tensors(name, whole, others);
  for (std::size_t i = 0; i < into.size(); ++i) {
    Tensor values = into[i].values;
    const std::vector<std::byte> all = whole[i].second.to_bytes();
    values.assign_bytes(std::span(all).subspan(into[i].first_byte(), values.bytes()));
  }
}

}  // namespace trivet
