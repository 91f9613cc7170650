// SPDX-License-Identifier: Apache-2.0
// What TRIVET_PLUGIN needs from libtrivet.
#include <algorithm>
#include <string>

#include "trivet/plugin/detail/plugin_note.h"

namespace trivet::detail {

void copy_reason(const char* reason, char* error, std::size_t error_size) noexcept {
  if (error == nullptr || error_size == 0) return;
  const std::size_t length = std::min(std::char_traits<char>::length(reason), error_size - 1);
  std::copy_n(reason, length, error);
  error[length] = '\0';
}

}  // namespace trivet::detail
