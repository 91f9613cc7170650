// SPDX-License-Identifier: Apache-2.0
// Finds the file from which an address of this process is mapped.
#pragma once

#include <cstddef>
#include <span>

namespace trivet {

// Writes the file's path with a NUL, truncated to the buffer. Returns false if the memory is not
// mapped from a file. Async-signal-safe.
bool mapped_file_at(const void* address, std::span<char> path) noexcept;

}  // namespace trivet
