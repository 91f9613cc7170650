// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a config file, read with limits: a config may be any file a user names by mistake.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "trivet/error.h"

namespace trivet {

// Far above any config written by hand, far below what would hurt.
inline constexpr std::size_t kLargestConfig = std::size_t{8} << 20;

// Throws ConfigError for a file that is missing, unreadable, a directory or larger than
// kLargestConfig. `named_at` says where the file was named, if it was another file.
std::string read_config_text(const std::filesystem::path& file, const Origin& named_at = {});

}  // namespace trivet
