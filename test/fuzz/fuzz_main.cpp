// SPDX-License-Identifier: Apache-2.0
// The entry that libFuzzer calls, for the target that the build names.
#include <cstddef>
#include <cstdint>

#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const trivet::test::FuzzTarget& target = trivet::test::fuzz_target(TRIVET_FUZZ_TARGET);
  target.accepts({reinterpret_cast<const char*>(data), size});
  return 0;
}
