// SPDX-License-Identifier: Apache-2.0
// Pages of memory: a mapped file, a copy of a file, or space for decompressed data.
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

  // Maps the whole file, which must not shrink while it is mapped. Throws InputError unless the
  // file is readable, regular and not empty.
  static Memory map(const std::string& file);
  // Copies the whole file, for data that people edit: a mapping would change with the file. Throws
  // InputError as map() does, and for more than `limit` bytes.
  static Memory read(const std::string& file, std::uint64_t limit);
  // Returns zeroed memory. Throws InputError with the name `file` if memory is exhausted.
  static Memory allocate(std::uint64_t size, const std::string& file);
  // Extends allocated memory by zeros, or shrinks it.
  void resize(std::uint64_t size, const std::string& file);

  // Reads a mapped file into memory if it is small enough to stay there, so that later reads take
  // no page faults.
  void populate() const;

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  std::uint8_t* data() { return data_; }  // allocated memory only
  std::uint64_t size() const { return size_; }

 private:
  Memory(std::uint8_t* data, std::uint64_t size) : data_(data), size_(size) {}
  void swap(Memory& other) noexcept;

  std::uint8_t* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace trivet::data
