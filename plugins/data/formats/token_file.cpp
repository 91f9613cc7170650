// SPDX-License-Identifier: Apache-2.0
#include "data/formats/token_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "data/formats/input_bytes.h"
#include "trivet/config/digest.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::data {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are mapped as they are");

constexpr std::string_view kMagic = "TRVTOK\r\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kHeaderBytes = 128;
constexpr std::size_t kDigestDigits = 32;

constexpr std::uint32_t kLlmCMagic = 20240520, kLlmCVersion = 1;
constexpr std::uint32_t kLlama3Magic = 20240801, kLlama3Version = 7;
constexpr std::uint64_t kLlmCHeaderBytes = 1024;

template <class T>
T number_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Returns a digest in hex, or an empty string if all bytes are zero.
std::string digits_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + offset, kDigestDigits);
  return text.find_first_not_of('\0') == std::string::npos ? std::string() : text;
}

std::optional<std::int32_t> special_token_at(std::span<const std::uint8_t> bytes,
                                             std::size_t offset) {
  const auto id = number_at<std::int32_t>(bytes, offset);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
void convert(const std::uint8_t* from, std::span<std::int32_t> out) {
  T value;
  for (std::int32_t& id : out) {
    std::memcpy(&value, from, sizeof value);
    id = static_cast<std::int32_t>(value);
    from += sizeof value;
  }
}

}  // namespace

TokenFile::TokenFile(std::string file, TokenLayout layout, std::uint64_t limit)
    : name_(std::move(file)) {
  MappedInput input = map_input(name_, limit);
  memory_ = std::move(input.memory);
  decompressed_ = input.decompressed;
  read_header(layout);
}

void TokenFile::fail(const std::string& what, std::string hint) const {
  throw InputError(name_ + ": " + what, {.hint = std::move(hint)});
}

void TokenFile::read_header(TokenLayout layout) {
  const auto bytes = memory_.bytes();
  const bool own = text_of(bytes).starts_with(kMagic);
  const std::uint32_t first = bytes.size() >= 4 ? number_at<std::uint32_t>(bytes, 0) : 0;
  const bool llm_c = first == kLlmCMagic || first == kLlama3Magic;
  if (layout == TokenLayout::nanogpt) {
    if (own || llm_c) {
      fail("has a header, so it is not a nanoGPT file", "set layout = \"by_header\"");
    }
    if (bytes.size() % 2 != 0) fail("has an odd number of bytes, so it holds no 16-bit ids");
    header_.tokens = static_cast<std::int64_t>(bytes.size() / 2);
    set_body(0);
    return check_width();
  }
  if (own) return read_own_header();
  if (llm_c) return read_llm_c_header(first == kLlmCMagic ? 2 : 4);
  const std::uint32_t turned = __builtin_bswap32(first);
  if (turned == kLlmCMagic || turned == kLlama3Magic) {
    fail("is a token file of llm.c in big-endian byte order",
         "write it again on a machine with little-endian numbers");
  }
  fail("is not a token file: it has neither trivet's nor llm.c's header",
       "layout = \"nanogpt\" reads 16-bit ids without a header; 'trivet data prepare' makes token "
       "files from text");
}

void TokenFile::read_own_header() {
  const auto bytes = memory_.bytes();
  if (bytes.size() < kHeaderBytes) fail("is cut off in its header");
  const auto version = number_at<std::uint32_t>(bytes, 8);
  if (version == __builtin_bswap32(kVersion)) fail("is in big-endian byte order");
  if (version != kVersion) {
    fail("is a token file of version " + std::to_string(version) + "; supported is version 1");
  }
  const auto width = number_at<std::uint32_t>(bytes, 12);
  if (width != 2 && width != 4) {
    fail("has ids of " + std::to_string(width) + " bytes; 2 and 4 are supported");
  }
  header_.width = static_cast<int>(width);
  const auto vocabulary = number_at<std::uint64_t>(bytes, 16);
  if (vocabulary < 1 || vocabulary > std::uint64_t{1} << (width == 2 ? 16 : 31)) {
    fail("has a vocabulary of " + std::to_string(vocabulary) + ", which does not fit in ids of " +
         std::to_string(width) + " bytes");
  }
  header_.vocabulary_size = static_cast<std::int64_t>(vocabulary);
  const auto tokens = number_at<std::uint64_t>(bytes, 24);
  const auto documents = number_at<std::uint64_t>(bytes, 32);
  const std::uint64_t body = bytes.size() - kHeaderBytes;
  if (documents > body / 8 || tokens > body / width || documents * 8 + tokens * width != body) {
    fail("has " + std::to_string(body) + " bytes after its header, which declares " +
             std::to_string(documents) + " documents and " + std::to_string(tokens) + " ids of " +
             std::to_string(width) + " bytes",
         "was it copied completely?");
  }
  header_.tokens = static_cast<std::int64_t>(tokens);
  header_.bos = special_token_at(bytes, 40);
  header_.eos = special_token_at(bytes, 44);
  header_.tokenizer = digits_at(bytes, 48);
  header_.digest = digits_at(bytes, 80);
  header_.has_index = true;
  // The memory starts at a page and the header is a multiple of 8, so the index is aligned.
  ends_ = {reinterpret_cast<const std::uint64_t*>(bytes.data() + kHeaderBytes),
           static_cast<std::size_t>(documents)};
  if (!std::is_sorted(ends_.begin(), ends_.end()) ||
      (ends_.empty() ? tokens != 0 : ends_.back() != tokens)) {
    fail("its index of documents is damaged");
  }
  set_body(kHeaderBytes + 8 * documents);
}

void TokenFile::read_llm_c_header(std::uint32_t width) {
  const auto bytes = memory_.bytes();
  if (bytes.size() < kLlmCHeaderBytes) fail("is cut off in its llm.c header");
  const auto version = number_at<std::uint32_t>(bytes, 4);
  const std::uint32_t expected = width == 2 ? kLlmCVersion : kLlama3Version;
  if (version != expected) {
    fail("is an llm.c token file of version " + std::to_string(version) + "; supported is " +
         std::to_string(expected));
  }
  const auto tokens = number_at<std::uint32_t>(bytes, 8);
  const std::uint64_t body = bytes.size() - kLlmCHeaderBytes;
  if (body != std::uint64_t{tokens} * width) {
    fail("has " + std::to_string(body) + " bytes after its llm.c header, which declares " +
             std::to_string(tokens) + " ids of " + std::to_string(width) + " bytes",
         "was it copied completely?");
  }
  header_.width = static_cast<int>(width);
  header_.tokens = tokens;
  set_body(kLlmCHeaderBytes);
}

// Such a file does not record its width. 32-bit ids leave every second 16-bit word zero.
void TokenFile::check_width() const {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min<std::int64_t>(tokens(), 4096)));
  convert<std::uint16_t>(ids_, ids);
  bool odd_are_zero = ids.size() >= 16, even_are_zero = true;
  for (std::size_t i = 0; i + 1 < ids.size(); i += 2) {
    even_are_zero = even_are_zero && ids[i] == 0;
    odd_are_zero = odd_are_zero && ids[i + 1] == 0;
  }
  if (odd_are_zero && !even_are_zero) {
    fail("every second 16-bit id is 0, so its ids seem to have 32 bits",
         "write 16-bit ids, or a file with a header");
  }
}

void TokenFile::set_body(std::uint64_t offset) {
  ids_ = memory_.bytes().data() + offset;
}

void TokenFile::read(std::int64_t begin, std::span<std::int32_t> out, std::int64_t limit) const {
  const std::uint8_t* from = ids_ + begin * header_.width;
  header_.width == 2 ? convert<std::uint16_t>(from, out) : convert<std::int32_t>(from, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] >= 0 && out[i] < limit) continue;
    fail("its id number " + std::to_string(begin + static_cast<std::int64_t>(i)) + " is " +
             std::to_string(static_cast<std::uint32_t>(out[i])) + ", but the vocabulary has " +
             std::to_string(limit),
         "does it have another tokenizer, width or byte order?");
  }
}

std::string TokenFile::verify() const {
  const std::size_t header = header_.has_index ? kHeaderBytes : 0;
  std::string found = digest(text_of(memory_.bytes().subspan(header)));
  if (!header_.digest.empty() && header_.digest != found) {
    fail("its contents are damaged: their digest is " + found + ", the header says " +
             header_.digest,
         "make it again, or copy it again");
  }
  return found;
}

std::string TokenFile::cheap_digest() const {
  if (!header_.digest.empty()) return header_.digest;
  const std::string_view all = text_of(memory_.bytes());
  constexpr std::size_t kEnd = std::size_t{1} << 16;
  return digest(std::to_string(all.size()) + std::string(all.substr(0, kEnd)) +
                std::string(all.substr(all.size() - std::min(all.size(), kEnd))));
}

void TokenFileWriter::add(std::span<const std::int32_t> ids) {
  for (const std::int32_t id : ids) {
    ids_.append(reinterpret_cast<const char*>(&id), static_cast<std::size_t>(header_.width));
  }
  header_.tokens += static_cast<std::int64_t>(ids.size());
  ends_.push_back(static_cast<std::uint64_t>(header_.tokens));
}

std::string TokenFileWriter::write(const std::string& file) const {
  std::string bytes(kHeaderBytes, '\0');
  bytes.reserve(kHeaderBytes + ends_.size() * 8 + ids_.size());
  bytes.append(reinterpret_cast<const char*>(ends_.data()), ends_.size() * 8);
  bytes += ids_;
  const std::string found = digest(std::string_view(bytes).substr(kHeaderBytes));
  bytes.replace(0, kMagic.size(), kMagic);
  put<std::uint32_t>(bytes, 8, kVersion);
  put<std::uint32_t>(bytes, 12, static_cast<std::uint32_t>(header_.width));
  put<std::uint64_t>(bytes, 16, static_cast<std::uint64_t>(header_.vocabulary_size));
  put<std::uint64_t>(bytes, 24, static_cast<std::uint64_t>(header_.tokens));
  put<std::uint64_t>(bytes, 32, ends_.size());
  put<std::int32_t>(bytes, 40, header_.bos.value_or(-1));
  put<std::int32_t>(bytes, 44, header_.eos.value_or(-1));
  if (header_.tokenizer.size() == kDigestDigits) {
    bytes.replace(48, kDigestDigits, header_.tokenizer);
  }
  bytes.replace(80, kDigestDigits, found);
  replace_file(file, bytes);
  return found;
}

}  // namespace trivet::data
