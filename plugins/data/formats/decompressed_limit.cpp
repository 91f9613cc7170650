// SPDX-License-Identifier: Apache-2.0
#include "data/formats/decompressed_limit.h"

#include "trivet/error.h"

namespace trivet::data {

void DecompressedLimit::add(std::uint64_t decompressed) {
  sum_ += decompressed;
  if (sum_ <= limit_) return;
  throw InputError(name_ + ": have more than limit = " + std::to_string(limit_) +
                       " bytes together when decompressed",
                   {.hint = "store them without compression, or set a larger limit"});
}

}  // namespace trivet::data
