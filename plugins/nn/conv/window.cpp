// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/window.h"

namespace trivet::nn {

std::array<std::int64_t, 2> pair_of(const std::vector<std::int64_t>& numbers) {
  return {numbers.front(), numbers.back()};
}

void check_pair(Problems& problems, std::string_view field,
                const std::vector<std::int64_t>& numbers) {
  if (numbers.size() == 1 || numbers.size() == 2) return;
  problems.add(field, "wants one number, or two for height and width; has " +
                          std::to_string(numbers.size()));
}

void check_pad(Problems& problems, Border padding, const std::vector<std::int64_t>& pad) {
  check_pair(problems, "pad", pad);
  if (padding == Border::explicit_ || pad == std::vector<std::int64_t>{0}) return;
  problems.add("pad", "is used only with padding = \"explicit\"");
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
