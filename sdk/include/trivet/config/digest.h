// SPDX-License-Identifier: Apache-2.0
// Checksums: they tell data apart that differs by accident, not data that somebody forged. All
// functions: [any-thread]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trivet/base/export.h"

namespace trivet {

// A name for a piece of text, the same on every machine and in every version: 32 hex digits (XXH3,
// 128 bits).
TRIVET_API std::string digest(std::string_view text);

// The checksum of TFRecord files: CRC-32C (Castagnoli, RFC 3720 appendix B.4) with the mask
// rotate_right(crc, 15) + 0xa282ead8 (TensorFlow, core/lib/hash/crc32c.h).
TRIVET_API std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace trivet
