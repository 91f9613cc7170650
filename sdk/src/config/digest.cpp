// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/digest.h"

#include <bit>

#include <boost/crc.hpp>
#include <fmt/core.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace trivet {

std::string digest(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return std::rotr(static_cast<std::uint32_t>(crc.checksum()), 15) + 0xA282EAD8u;
}

}  // namespace trivet
