// SPDX-License-Identifier: Apache-2.0
// gzip and zstd as streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trivet/os/input_file.h"

namespace trivet::detail {

class Decompressor {
 public:
  virtual ~Decompressor() = default;
  // Takes from the front of `in` and fills `out` from its front; both are shortened by what was
  // used. Throws a std::string, what is wrong, for damaged data.
  virtual void run(std::span<const std::uint8_t>& in, std::span<char>& out) = 0;
  // Whether what was taken so far is whole, so that the file may end here.
  virtual bool is_whole() const = 0;
};

// Not for Compression::none.
std::unique_ptr<Decompressor> decompressor_of(Compression compression);

}  // namespace trivet::detail
