// SPDX-License-Identifier: Apache-2.0
// Reads the bytes of a config file with limits: a user may name any file by mistake.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "trivet/error.h"

namespace trivet {

// Far above any handwritten config, far below a harmful size.
inline constexpr std::size_t kLargestConfig = std::size_t{8} << 20;

// Throws ConfigError for a file that is missing, unreadable, a directory or larger than
// kLargestConfig. `named_at` is the location in another file that names this file, if any.
std::string read_config_text(const std::filesystem::path& file, const Origin& named_at = {});

}  // namespace trivet
