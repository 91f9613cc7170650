// SPDX-License-Identifier: Apache-2.0
// Config files that are part of the program.
#pragma once

#include <string_view>
#include <vector>

namespace trivet {

// The text of the file. Empty if none has this name.
std::string_view predefined_config(std::string_view name);
std::vector<std::string_view> predefined_configs();

}  // namespace trivet
