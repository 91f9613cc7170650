// SPDX-License-Identifier: Apache-2.0
// Pages of memory: a file mapped to read or copied, or room for decompressed data.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trivet::data {

class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory();

  // The whole file. It must not shrink while it is mapped. Throws InputError for anything but a
  // readable file with contents.
  static Memory map(const std::string& file);
  // A copy of the whole file: for data that people edit, as a mapping would change with it. Throws
  // InputError as map() does, and for more than `limit` bytes.
  static Memory read(const std::string& file, std::uint64_t limit);
  // Zeros. Throws InputError naming `file`, for which it is, when there is no room.
  static Memory allocate(std::uint64_t size, const std::string& file);
  // Makes allocated memory longer, by zeros, or shorter.
  void resize(std::uint64_t size, const std::string& file);

  // Brings a mapped file into memory, if it is small enough to stay there, so that later reads take
  // no page faults.
  void populate() const;

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  std::uint8_t* data() { return data_; }  // of allocated memory
  std::uint64_t size() const { return size_; }

 private:
  Memory(std::uint8_t* data, std::uint64_t size) : data_(data), size_(size) {}
  void swap(Memory& other) noexcept;

  std::uint8_t* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace trivet::data
