// SPDX-License-Identifier: Apache-2.0
// Text with {placeholders}, as str.format of Python writes them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace trivet::launch {

struct Placeholder {
  std::string_view name;    // "file:x" has the name "file" and the format "x"
  std::string_view format;  // after the first colon; may be empty
};

// `text` with what `value` gives for each placeholder; "{{" and "}}" become single braces. Throws
// Error for braces that do not fit together.
std::string replace_braces(std::string_view text,
                           const std::function<std::string(const Placeholder&)>& value);

}  // namespace trivet::launch
