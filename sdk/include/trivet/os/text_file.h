// SPDX-License-Identifier: Apache-2.0
// Small text files that a task or an action keeps in a run's directory: written whole or not at
// all, and read without trusting their size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "trivet/plugin/export.h"

namespace trivet {

// Writes FILE.tmp, brings it to the disk and renames it: whoever reads, and whatever happens, there
// is the old text or the new one. Throws RunError with the system's reason; then FILE.tmp is gone.
// One writer a file at a time. [any thread]
TRIVET_API void replace_text_file(const std::filesystem::path& file, std::string_view text);

// All of it. Throws RunError with the system's reason, or for more than `limit` bytes. [any thread]
TRIVET_API std::string text_of_file(const std::filesystem::path& file,
                                    std::uint64_t limit = std::uint64_t{64} << 20);

}  // namespace trivet
