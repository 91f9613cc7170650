// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/steps/precompiled_normalizer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {
namespace {

// A unit of darts-clone: a leaf's value, or a label, an offset to the children and whether one of
// them is a leaf.
std::uint32_t unit_label(std::uint32_t unit) {
  return unit & ((std::uint32_t{1} << 31) | 0xFF);
}
std::size_t unit_offset(std::uint32_t unit) {
  return static_cast<std::size_t>(unit >> 10) << ((unit & (std::uint32_t{1} << 9)) >> 6);
}
bool unit_has_leaf(std::uint32_t unit) {
  return ((unit >> 8) & 1) != 0;
}
std::size_t unit_value(std::uint32_t unit) {
  return unit & ((std::uint32_t{1} << 31) - 1);
}

std::optional<std::string> base64_bytes(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    held = (held << 6 | static_cast<std::uint32_t>(digit)) & 0xFFFFFF;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xFF);
  }
  return bytes;
}

std::uint32_t little_endian(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

PrecompiledNormalizer::PrecompiledNormalizer(const JsonPart& part) {
  part.check_fields({"precompiled_charsmap"});
  const JsonPart map = part.field("precompiled_charsmap");
  const auto bytes = base64_bytes(part.text("precompiled_charsmap"));
  if (!bytes) map.fail("is not Base64");
  const std::size_t size = bytes->size() < 4 ? 0 : little_endian(bytes->data());
  if (size < 4 || size % 4 != 0 || size > bytes->size() - 4) {
    map.fail("has no trie", "the file may be cut off");
  }
  for (std::size_t at = 4; at < 4 + size; at += 4) {
    trie_.push_back(little_endian(bytes->data() + at));
  }
  texts_ = bytes->substr(4 + size);
  if (find_invalid_utf8(texts_)) map.fail("has texts that are not UTF-8");
}

std::optional<std::string_view> PrecompiledNormalizer::find(std::string_view text) const {
  std::size_t node = unit_offset(trie_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return std::nullopt;
    node ^= byte;
    if (node >= trie_.size() || unit_label(trie_[node]) != byte) return std::nullopt;
    const bool leaf = unit_has_leaf(trie_[node]);
    node ^= unit_offset(trie_[node]);
    if (!leaf) continue;
    if (node >= trie_.size()) return std::nullopt;
    const std::size_t begin = unit_value(trie_[node]);
    if (begin >= texts_.size()) return std::nullopt;
    const std::size_t end = std::min(texts_.find('\0', begin), texts_.size());
    const std::string_view found = std::string_view(texts_).substr(begin, end - begin);
    return find_invalid_utf8(found) ? std::nullopt : std::optional(found);
  }
  return std::nullopt;
}

std::string PrecompiledNormalizer::apply(std::string text) const {
  constexpr std::size_t kMaxCluster = 6;
  std::string made;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view cluster = rest.substr(0, grapheme_length(rest));
    rest.remove_prefix(cluster.size());
    if (cluster.size() < kMaxCluster) {
      if (const auto found = find(cluster)) {
        made += *found;
        continue;
      }
    }
    for_each_character(
        cluster, [&](char32_t, std::string_view bytes) { made += find(bytes).value_or(bytes); });
  }
  return made;
}

}  // namespace trivet::tokenizers
