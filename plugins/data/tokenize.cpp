// SPDX-License-Identifier: Apache-2.0
#include "tokenize.h"

#include <cstddef>

#include "trivet/error.h"

namespace trivet::data {

std::vector<std::int32_t> encode_checked(const Tokenizer& tokenizer, std::string_view text,
                                         const std::string& place) {
  std::vector<std::int32_t> ids;
  try {
    ids = tokenizer.encode(text);
  } catch (const InputError& error) {
    throw InputError(place + ": " + error.message(), error.details());
  }
  const std::int32_t size = tokenizer.vocabulary_size();
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < size) continue;
    throw InputError(place + ": the tokenizer made the id " + std::to_string(id) +
                         ", but its vocabulary has " + std::to_string(size),
                     {.hint = "this is a mistake in the tokenizer"});
  }
  return ids;
}

std::unique_ptr<MemoryTokens> tokenize(TextSource& source, const Tokenizer& tokenizer) {
  auto tokens = std::make_unique<MemoryTokens>(tokenizer.vocabulary_size());
  source.read([&](std::string_view text, const std::string& place) {
    tokens->add(encode_checked(tokenizer, text, place));
  });
  return tokens;
}

std::vector<std::int32_t> bytes_of_ids(const Tokenizer& tokenizer) {
  std::vector<std::int32_t> bytes(static_cast<std::size_t>(tokenizer.vocabulary_size()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (!tokenizer.is_special(id))
      bytes[i] = static_cast<std::int32_t>(tokenizer.token_text(id).size());
  }
  return bytes;
}

}  // namespace trivet::data
