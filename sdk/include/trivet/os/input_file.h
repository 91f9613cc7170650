// SPDX-License-Identifier: Apache-2.0
// Files of data as people have them: plain, or compressed with gzip (RFC 1952) or zstd (RFC 8878).
// Which one a file is, its first bytes say, not its name.
//
// Example (sdk/examples/snippets/files.cpp#read):
//
//   InputFile file(name);  // "books.txt.gz"
//   TextCheck check(file.name(), "this wants text");
//   for (std::string piece(1 << 16, '\0'); const std::size_t n = file.read(piece);) {
//     check.add(std::string_view(piece).substr(0, n));
//     text.append(piece, 0, n);
//   }
//   check.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "trivet/base/export.h"

namespace trivet {

enum class Compression { none, gzip, zstd };

// What these first bytes of a file say; four are enough.
TRIVET_API Compression compression_of(std::span<const std::uint8_t> front) noexcept;

// The contents of a file, decompressed. Several gzip members or zstd frames in a row are one file.
// [one thread at a time]
class TRIVET_API InputFile {
 public:
  // Throws InputError with the system's reason for what cannot be opened.
  explicit InputFile(const std::string& name);
  // Of bytes that are there already, and outlive it; `name` is for messages.
  InputFile(std::span<const std::uint8_t> bytes, std::string name);
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;

  const std::string& name() const;
  Compression compression() const;
  // Fills `out`, less only at the end; 0: nothing more comes. Throws InputError, with the name and
  // how many bytes came before, for compressed data that is cut off or damaged, or that something
  // else follows.
  std::size_t read(std::span<char> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All of it. Throws InputError, also for more than `limit` bytes.
TRIVET_API std::string input_text(const std::string& name, std::uint64_t limit);

}  // namespace trivet
