// SPDX-License-Identifier: Apache-2.0
// NumPy files (numpy.lib.format, versions 1.0 to 3.0): "\x93NUMPY", version, header length, a
// Python dict {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }, data. NpyFile
// reads little-endian f4, f8, i4, i8 and u1 in C order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/memory.h"

namespace trivet::data {

enum class NpyType { f4, f8, u1, i4, i8 };

struct NpyHeader {
  NpyType type = NpyType::f4;
  std::vector<std::int64_t> shape;
};

// Parses the dict. Throws InputError with `name` unless it has exactly the three keys, with plain
// values of a supported kind.
NpyHeader parse_npy_header(std::string_view text, const std::string& name);

class NpyFile {
 public:
  // Maps the file, or decompresses up to `limit` bytes of one of gzip or zstd, and checks header
  // and size. Throws InputError.
  NpyFile(std::string name, std::uint64_t limit);

  const std::string& name() const { return name_; }
  NpyType type() const { return header_.type; }
  const std::vector<std::int64_t>& shape() const { return header_.shape; }
  std::int64_t records() const { return header_.shape[0]; }
  std::int64_t record_elements() const { return record_elements_; }
  void load() const { memory_.populate(); }

  // The elements' bytes, which may be unaligned.
  const std::uint8_t* elements() const { return memory_.bytes().data() + data_begin_; }
  double number(std::int64_t index) const;         // of any type
  std::int64_t integer(std::int64_t index) const;  // of u1, i4 and i8

 private:
  template <class T>
  T at(std::int64_t index) const;

  std::string name_;
  Memory memory_;
  NpyHeader header_;
  std::size_t data_begin_ = 0;
  std::int64_t record_elements_ = 1;
};

}  // namespace trivet::data
