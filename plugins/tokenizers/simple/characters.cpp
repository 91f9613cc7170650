// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/simple/characters.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "tokenizers/text/corpus.h"
#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet::tokenizers {
namespace {

constexpr std::string_view kUnknown = "<unk>";

std::vector<char32_t> alphabet_of(const CharactersConfig& config) {
  std::set<char32_t> all;
  const auto add = [&](std::string_view text) {
    for (const char32_t character : distinct_characters(text)) all.insert(character);
  };
  add(config.alphabet);
  for (const Path& file : config.files) add(read_corpus(file.text));
  if (all.empty()) throw InputError("the files of the alphabet have no characters");
  return {all.begin(), all.end()};
}

}  // namespace

std::vector<char32_t> distinct_characters(std::string_view text) {
  std::vector<bool> seen(0x110000);
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.length > 0) seen[point.value] = true;
    text.remove_prefix(std::max<std::size_t>(point.length, 1));
  }
  std::vector<char32_t> characters;
  for (char32_t c = 0; c < seen.size(); ++c) {
    if (seen[c]) characters.push_back(c);
  }
  return characters;
}

void CharactersConfig::validate(Diagnostics& diagnostics) const {
  if (alphabet.empty() && files.empty()) {
    diagnostics.add("alphabet", "must be set, or files",
                    "files = [\"corpus.txt\"] uses the characters of a text");
  } else if (const auto offset = find_invalid_utf8(alphabet)) {
    diagnostics.add("alphabet", fmt::format("is not UTF-8 at byte {}", *offset));
  }
}

Characters::Characters(const Config& config)
    : unknown_(config.unknown),
      alphabet_(alphabet_of(config)),
      special_tokens_(config, fallback_end()) {}

std::int32_t Characters::fallback_end() const {
  switch (unknown_) {
    case UnknownCharacter::bytes:
      return size() + 256;
    case UnknownCharacter::token:
      return size() + 1;
    case UnknownCharacter::error:
      break;
  }
  return size();
}

std::vector<std::int32_t> Characters::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    const std::size_t length = std::max<std::size_t>(point.length, 1);
    const auto found = std::lower_bound(alphabet_.begin(), alphabet_.end(), point.value);
    if (point.length > 0 && found != alphabet_.end() && *found == point.value) {
      ids.push_back(static_cast<std::int32_t>(found - alphabet_.begin()));
    } else if (unknown_ == UnknownCharacter::bytes) {
      for (const char byte : text.substr(at, length)) {
        ids.push_back(size() + static_cast<unsigned char>(byte));
      }
    } else if (unknown_ == UnknownCharacter::token) {
      ids.push_back(size());
    } else {
      const std::string what = point.length > 0
                                   ? fmt::format("the character U+{:04X} at byte {}",
                                                 static_cast<std::uint32_t>(point.value), at)
                                   : fmt::format("byte {}, which is not UTF-8,", at);
      throw InputError(what + " is not in the tokenizer's alphabet",
                       {.hint = "unknown = \"bytes\" accepts any text"});
    }
    at += length;
  }
  return ids;
}

std::string Characters::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) {
    check_id(id);
    if (id < size()) {
      append_utf8(alphabet_[static_cast<std::size_t>(id)], text);
    } else if (id >= fallback_end()) {
      text += special_tokens_.text(id);
    } else if (unknown_ == UnknownCharacter::bytes) {
      text += static_cast<char>(id - size());
    } else {
      text += kUnknown;
    }
  }
  return text;
}

std::optional<std::int32_t> Characters::unknown_id() const {
  return unknown_ == UnknownCharacter::token ? std::optional(size()) : std::nullopt;
}

std::string Characters::fingerprint() const {
  FingerprintText text("tokenizers/Characters 1");
  for (const char32_t character : alphabet_) text.add(static_cast<std::int64_t>(character));
  text.add(std::int64_t{fallback_end() - size()});
  special_tokens_.add_to(text);
  return text.digest();
}

ConfigOf<Tokenizer> Characters::store(const std::filesystem::path&) const {
  CharactersConfig config;
  for (const char32_t character : alphabet_) append_utf8(character, config.alphabet);
  config.unknown = unknown_;
  special_tokens_.write_to(config);
  return config;
}

}  // namespace trivet::tokenizers
