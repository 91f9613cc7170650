// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/digest.h"

#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

using namespace trivet;

// CRC-32C of "123456789" is e3069283 (the check value of CRC-32/ISCSI in every list of CRCs),
// of 32 zeros 8a9136aa (RFC 3720, B.4), of nothing 0; of "a" c1d04330 (LevelDB's crc32c has it,
// too).
TEST_CASE("checksums of records are masked CRC-32C") {
  const auto mask = [](std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8u; };
  CHECK(masked_crc32c("123456789") == mask(0xE3069283));
  CHECK(masked_crc32c(std::string(32, '\0')) == mask(0x8A9136AA));
  CHECK(masked_crc32c("a") == mask(0xC1D04330));
  CHECK(masked_crc32c("") == mask(0));
}
