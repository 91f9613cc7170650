// SPDX-License-Identifier: Apache-2.0
// Token files hold the token ids of documents. data/Tokens maps them into memory. All numbers are
// little-endian.
//
// trivet's format, version 1:
//
//     0  char[8]  "TRVTOK\r\n"
//     8  u32      1, the version
//    12  u32      bytes of an id: 2 or 4
//    16  u64      size of the vocabulary, the limit of ids
//    24  u64      number of ids
//    32  u64      number of documents
//    40  i32[2]   BOS and EOS, -1 if there is none; documents do not contain them
//    48  char[32] fingerprint of the tokenizer, zeros if unknown
//    80  char[32] digest (trivet/config/digest.h: XXH3, 128 bits, in hex) of all bytes from 128 on
//   112  zeros up to 128
//   128  u64[]    the end of each document, in ids
//        u16[] or u32[]  the ids
//
// Files of llm.c (dev/data/data_common.py): i32[256], of which the first three are 20240520, 1 and
// the number of ids, then u16 ids; or 20240801, 7 and the number, then u32 ids (Llama 3).
// Files of nanoGPT (data/*/prepare.py): u16 ids and nothing else.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/formats/memory.h"
#include "trivet/config.h"

namespace trivet::data {

enum class TokenLayout {
  by_header,  // trivet's or llm.c's, as the file starts
  nanogpt,    // 16-bit ids without a header
};
TRIVET_ENUM(TokenLayout, by_header, nanogpt)

// What a file's header says about its ids.
struct TokenFileHeader {
  int width = 2;                     // bytes of an id
  std::int64_t vocabulary_size = 0;  // 0: unknown
  std::int64_t tokens = 0;
  std::optional<std::int32_t> bos, eos;
  std::string tokenizer;   // its fingerprint; empty: unknown
  std::string digest;      // of index and ids; empty: none in the file
  bool has_index = false;  // the file says where documents end
};

// A mapped file with a consistent header, which must not shrink while it is open; or one of gzip or
// zstd, decompressed into memory.
class TokenFile {
 public:
  // `limit`: most bytes of a compressed file, decompressed. Throws InputError if the file has
  // another format, byte order, width or version, is truncated or too long, or has an index that is
  // not increasing.
  TokenFile(std::string file, TokenLayout layout,
            std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());

  const std::string& name() const { return name_; }
  std::uint64_t decompressed() const { return decompressed_; }  // bytes; 0 for a plain file
  const TokenFileHeader& header() const { return header_; }
  std::int64_t tokens() const { return header_.tokens; }
  // The number of documents. Only for a file with an index.
  std::int64_t documents() const { return static_cast<std::int64_t>(ends_.size()); }
  std::int64_t end_of(std::int64_t document) const {
    return static_cast<std::int64_t>(ends_[static_cast<std::size_t>(document)]);
  }

  // Reads ids begin, begin + 1, ... Throws InputError for an id that is not below `limit`.
  // [any-thread]
  void read(std::int64_t begin, std::span<std::int32_t> out, std::int64_t limit) const;

  // Reads the whole file and throws InputError if its digest differs from the header's. Returns the
  // digest of everything after the header.
  std::string verify() const;
  // Returns the digest in the header. For a file without one: a digest of the size and both ends.
  std::string cheap_digest() const;

 private:
  void read_header(TokenLayout layout);
  void read_own_header();
  void read_llm_c_header(std::uint32_t width);
  void set_body(std::uint64_t offset);  // where the ids start
  void check_width() const;
  [[noreturn]] void fail(const std::string& what, std::string hint = {}) const;

  std::string name_;
  Memory memory_;
  std::uint64_t decompressed_ = 0;
  TokenFileHeader header_;
  std::span<const std::uint64_t> ends_;
  const std::uint8_t* ids_ = nullptr;
};

// Writes a file of trivet's format atomically. Throws RunError with the system's reason.
class TokenFileWriter {
 public:
  // `header` needs everything but counts and digest.
  explicit TokenFileWriter(TokenFileHeader header) : header_(std::move(header)) {}

  void add(std::span<const std::int32_t> ids);
  std::int64_t tokens() const { return header_.tokens; }
  std::int64_t documents() const { return static_cast<std::int64_t>(ends_.size()); }
  // Returns the digest that it wrote to the header.
  std::string write(const std::string& file) const;

 private:
  TokenFileHeader header_;
  std::vector<std::uint64_t> ends_;
  std::string ids_;
};

}  // namespace trivet::data
