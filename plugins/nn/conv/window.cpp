// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/window.h"

namespace trivet::nn {

std::array<std::int64_t, 2> pair_of(const std::vector<std::int64_t>& numbers) {
  return {numbers.front(), numbers.back()};
}

void check_pair(Diagnostics& diagnostics, std::string_view field,
                const std::vector<std::int64_t>& numbers) {
  if (numbers.size() == 1 || numbers.size() == 2) return;
  diagnostics.add(field, "needs one number, or two for height and width; has " +
                             std::to_string(numbers.size()));
}

void check_pad(Diagnostics& diagnostics, Border padding, const std::vector<std::int64_t>& pad) {
  check_pair(diagnostics, "pad", pad);
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
