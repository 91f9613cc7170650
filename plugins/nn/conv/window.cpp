// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/window.h"

#include <string>

namespace trivet::nn {

std::array<std::int64_t, 2> pair_of(const std::vector<std::int64_t>& numbers) {
  return {numbers.front(), numbers.back()};
}

std::array<std::int64_t, 3> triple_of(const std::vector<std::int64_t>& numbers) {
  return numbers.size() == 3 ? std::array{numbers[0], numbers[1], numbers[2]}
                             : std::array{numbers[0], numbers[0], numbers[0]};
}

void check_pair(Diagnostics& diagnostics, std::string_view field,
                const std::vector<std::int64_t>& numbers) {
  if (numbers.size() == 1 || numbers.size() == 2) return;
  diagnostics.add(field, "needs one number, or two for height and width; has " +
                             std::to_string(numbers.size()));
}

void check_triple(Diagnostics& diagnostics, std::string_view field,
                  const std::vector<std::int64_t>& numbers) {
  if (numbers.size() == 1 || numbers.size() == 3) return;
  diagnostics.add(field, "needs one number, or three for depth, height and width; has " +
                             std::to_string(numbers.size()));
}

void check_groups(Diagnostics& diagnostics, std::int64_t groups, std::int64_t input_dims,
                  std::int64_t output_dims) {
  if (input_dims % groups == 0 && output_dims % groups == 0) return;
  diagnostics.add("groups", "is " + std::to_string(groups) +
                                ", which must divide input_dims = " + std::to_string(input_dims) +
                                " and output_dims = " + std::to_string(output_dims));
}

void check_pad(Diagnostics& diagnostics, Border padding, const std::vector<std::int64_t>& pad) {
  check_pair(diagnostics, "pad", pad);
  check_pad_use(diagnostics, padding, pad);
}

void check_pad_use(Diagnostics& diagnostics, Border padding, const std::vector<std::int64_t>& pad) {
  if (padding == Border::explicit_ || pad == std::vector<std::int64_t>{0}) return;
  diagnostics.add("pad", "is used only with padding = \"explicit\"");
}

Padding padding_of(Border border) {
  switch (border) {
    case Border::same:
      return Padding::same;
    case Border::valid:
      return Padding::valid;
    case Border::explicit_:
      return Padding::explicit_;
  }
  return Padding::same;
}

}  // namespace trivet::nn
