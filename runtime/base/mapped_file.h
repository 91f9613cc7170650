// SPDX-License-Identifier: Apache-2.0
// Which file an address of this process is mapped from.
#pragma once

#include <cstddef>
#include <span>

namespace trivet {

// Writes the file's path with a NUL, cut to what fits; false for memory that is no file's. May be
// called in a signal handler.
bool mapped_file_at(const void* address, std::span<char> path) noexcept;

}  // namespace trivet
