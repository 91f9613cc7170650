// SPDX-License-Identifier: Apache-2.0
#include "data/formats/tar_file.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "data/formats/input_bytes.h"
#include "trivet/error.h"
#include "trivet/text/strings.h"
#include "trivet/text/utf8.h"

namespace trivet::data {
namespace {

constexpr std::size_t kTarBlock = 512;
constexpr std::uint64_t kMostExtended = std::uint64_t{1} << 20;  // bytes of an extended header

// A header, and the fields of it that matter here.
class TarHeader {
 public:
  explicit TarHeader(std::string_view block) : block_(block) {}

  bool is_zero() const { return block_.find_first_not_of('\0') == std::string_view::npos; }

  // The sum of all bytes, where those of the sum itself are spaces. Old programs added signed
  // bytes.
  bool has_right_sum() const {
    const std::optional<std::uint64_t> wanted = octal(148, 8);
    std::int64_t plain = 0, with_signs = 0;
    for (std::size_t i = 0; i < kTarBlock; ++i) {
      const char byte = i >= 148 && i < 156 ? ' ' : block_[i];
      plain += static_cast<unsigned char>(byte);
      with_signs += static_cast<signed char>(byte);
    }
    return wanted && (std::cmp_equal(*wanted, plain) || std::cmp_equal(*wanted, with_signs));
  }

  char type() const { return block_[156]; }

  std::string name() const {
    const std::string own = text(0, 100);
    const std::string prefix = block_.substr(257, 6) == std::string_view("ustar\0", 6)
                                   ? text(345, 155)
                                   : std::string();  // GNU's format has times there
    return prefix.empty() ? own : prefix + "/" + own;
  }

  // Nothing for what is no number below 2^63.
  std::optional<std::uint64_t> size() const {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(block_[i]); };
    if (byte(124) < 0x80) return octal(124, 12);
    // GNU: a big-endian number after the bit that says so.
    std::uint64_t value = byte(124) & 0x7FU;
    for (std::size_t i = 125; i < 136; ++i) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | byte(i);
    }
    return value;
  }

 private:
  std::string text(std::size_t at, std::size_t most) const {
    const std::string_view field = block_.substr(at, most);
    return std::string(field.substr(0, field.find('\0')));
  }

  std::optional<std::uint64_t> octal(std::size_t at, std::size_t most) const {
    std::string_view field = block_.substr(at, most);
    while (field.starts_with(' ')) field.remove_prefix(1);
    field = field.substr(0, field.find_first_of(std::string_view(" \0", 2)));
    std::uint64_t value = 0;
    for (const char digit : field) {
      if (digit < '0' || digit > '7') return std::nullopt;
      value = value << 3 | static_cast<std::uint64_t>(digit - '0');
    }
    return value;
  }

  std::string_view block_;
};

std::optional<std::uint64_t> decimal_number(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

std::string shown_name(const std::string& name) {
  const bool is_text = !find_invalid_utf8(name);
  std::string shown;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !is_text) ? '?' : c;
  }
  return shown;
}

// Reads the headers of one archive.
class TarReader {
 public:
  TarReader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::vector<TarMember> read() {
    for (;;) {
      const std::size_t header_at = at_;
      if (bytes_.size() - at_ < kTarBlock) {
        fail(at_ == 0 ? "is no tar file: it has less than 512 bytes"
                      : "is cut off at byte " + std::to_string(bytes_.size()) + after_last() +
                            ": it has no end of archive");
      }
      const TarHeader header(bytes_.substr(at_, kTarBlock));
      at_ += kTarBlock;
      if (header.is_zero()) break;
      if (!header.has_right_sum()) {
        if (header_at == 0) {
          fail("is no tar file: the checksum of its first header is wrong",
               "tar files may be plain, gzip or zstd");
        }
        fail("the checksum of the header at byte " + std::to_string(header_at) + after_last() +
                 " is wrong",
             "the file is damaged");
      }
      add(header, header_at);
    }
    check_end();
    return std::move(members_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::string hint = {}) const {
    throw InputError(file_ + ": " + what, {.hint = std::move(hint)});
  }
  [[noreturn]] void fail_member(const std::string& name, const std::string& what,
                                std::string hint = {}) const {
    throw InputError(file_ + ":" + shown_name(name) + ": " + what, {.hint = std::move(hint)});
  }

  std::string after_last() const { return last_.empty() ? "" : ", after " + shown_name(last_); }

  void add(const TarHeader& header, std::size_t header_at) {
    const char type = header.type();
    if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
      const std::string_view text = extended(header, header_at);
      if (type == 'x' || type == 'g') read_records(text, type == 'g', header_at);
      if (type == 'L') long_name_ = std::string(text.substr(0, text.find('\0')));
      return;
    }
    std::string name = long_name_.value_or(header.name());
    const std::optional<std::uint64_t> size = long_size_ ? long_size_ : header.size();
    check_type(name, type);
    const bool is_folder = type == '5' || name.ends_with('/');
    const std::string_view contents = take(name, is_folder ? 0 : size);
    last_ = name;
    long_name_.reset();
    long_size_.reset();
    check_name(name);
    if (is_folder) return;
    while (name.starts_with("./")) name.erase(0, 2);
    if (name.empty()) fail("the header at byte " + std::to_string(header_at) + " has no name");
    members_.push_back({std::move(name),
                        static_cast<std::uint64_t>(contents.data() - bytes_.data()),
                        contents.size()});
  }

  // The next bytes, up to the end of their last block.
  std::string_view take(const std::string& name, std::optional<std::uint64_t> size) {
    const std::uint64_t rest = bytes_.size() - at_;
    if (!size) fail_member(name, "its size is no number", "the file is damaged");
    if (*size > rest) {
      fail_member(name, "is cut off: it has " + std::to_string(*size) + " bytes, but only " +
                            std::to_string(rest) + " follow");
    }
    const std::string_view taken = bytes_.substr(at_, *size);
    at_ += std::min(rest, (*size + kTarBlock - 1) / kTarBlock * kTarBlock);
    return taken;
  }

  std::string_view extended(const TarHeader& header, std::size_t header_at) {
    const std::string what = "extended header at byte " + std::to_string(header_at);
    const std::optional<std::uint64_t> size = header.size();
    if (size && *size > kMostExtended) {
      fail_member(what, "has " + std::to_string(*size) + " bytes, more than 2^20");
    }
    return take(what, size);
  }

  // "LENGTH KEYWORD=VALUE\n", where the length is that of the record.
  void read_records(std::string_view text, bool global, std::size_t header_at) {
    const std::string what = "the extended header at byte " + std::to_string(header_at);
    while (!text.empty()) {
      const std::size_t space = text.find(' ');
      const auto length = decimal_number(text.substr(0, std::min(space, text.size())));
      if (!length || *length > text.size() || *length < space + 2 || text[*length - 1] != '\n') {
        fail(what + " is no list of records", "the file is damaged");
      }
      const std::string_view record = text.substr(space + 1, *length - space - 2);
      const std::size_t equals = record.find('=');
      if (equals == std::string_view::npos) fail(what + " has a record without '='");
      set(record.substr(0, equals), record.substr(equals + 1), global, what);
      text.remove_prefix(*length);
    }
  }

  void set(std::string_view keyword, std::string_view value, bool global, const std::string& what) {
    const bool is_sparse = keyword.starts_with("GNU.sparse.");
    if (is_sparse) fail(what + " is of a sparse file", "make the archive without --sparse");
    if (keyword != "path" && keyword != "size") return;
    if (global) fail(what + " gives all members one " + std::string(keyword));
    if (value.empty()) return;  // the header's own
    if (keyword == "path") {
      long_name_ = std::string(value);
    } else {
      long_size_ = decimal_number(value);
      if (!long_size_) fail(what + " has a size that is no number", "the file is damaged");
    }
  }

  void check_type(const std::string& name, char type) const {
    switch (type) {
      case '0':
      case '\0':
      case '7':  // contiguous, which other systems ignore
      case '5':
        return;
      case '1':
        fail_member(name, "is a hard link", "make the archive with tar --hard-dereference");
      case '2':
        fail_member(name, "is a link", "make the archive with tar --dereference");
      case '3':
      case '4':
      case '6':
        fail_member(name, "is a device or a pipe, not a file", "make the archive without it");
      case 'S':
        fail_member(name, "is a sparse file", "make the archive without --sparse");
      default:
        fail_member(name, "has the type " + std::to_string(static_cast<unsigned char>(type)) +
                              ", which is not that of a file");
    }
  }

  void check_name(const std::string& name) const {
    if (find_invalid_utf8(name)) fail_member(name, "the name is not UTF-8", "rename the file");
    if (name.find('\0') != std::string::npos) fail_member(name, "the name has a zero byte");
    if (name.starts_with('/')) {
      fail_member(name, "the name is absolute", "make the archive with names below a folder");
    }
    for (const std::string_view part : split(name, '/')) {
      if (part == "..") {
        fail_member(name, "the name leads out of the archive",
                    "make the archive with names below a folder");
      }
    }
  }

  // A second archive behind the first one would be left out.
  void check_end() const {
    if (long_name_ || long_size_) {
      fail("is cut off after an extended header" + after_last());
    }
    const std::size_t more = bytes_.find_first_not_of('\0', at_);
    if (more == std::string_view::npos) return;
    fail("data follow the end of the archive, at byte " + std::to_string(more),
         "join archives with tar --concatenate, not by appending one to the other");
  }

  std::string_view bytes_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::string last_;  // name of the last member
  std::optional<std::string> long_name_;
  std::optional<std::uint64_t> long_size_;
  std::vector<TarMember> members_;
};

}  // namespace

std::vector<TarMember> tar_members(std::string_view bytes, const std::string& file) {
  return TarReader(bytes, file).read();
}

TarFile::TarFile(std::string name, std::uint64_t limit) : name_(std::move(name)) {
  MappedInput input = map_input(name_, limit);
  memory_ = std::move(input.memory);
  decompressed_ = input.decompressed;
  members_ = tar_members(text_in(memory_), name_);
}

std::string_view TarFile::contents(const TarMember& member) const {
  const std::string_view bytes = text_in(memory_);
  return bytes.empty() ? bytes : bytes.substr(member.offset, member.size);
}

}  // namespace trivet::data
