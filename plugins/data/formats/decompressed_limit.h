// SPDX-License-Identifier: Apache-2.0
// DecompressedLimit: the limit of what several compressed files have together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace trivet::data {

class DecompressedLimit {
 public:
  // `name` is that of the files in messages.
  DecompressedLimit(std::string name, std::uint64_t limit)
      : name_(std::move(name)), limit_(limit) {}
  std::uint64_t of_one() const { return limit_; }
  // Throws InputError where the sum is above the limit.
  void add(std::uint64_t decompressed);

 private:
  std::string name_;
  std::uint64_t limit_, sum_ = 0;
};

}  // namespace trivet::data
