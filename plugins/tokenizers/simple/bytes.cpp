// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/simple/bytes.h"

namespace trivet::tokenizers {

std::vector<std::int32_t> Bytes::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

std::string Bytes::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) {
    check_id(id);
    if (id < 256) {
      text += static_cast<char>(id);
    } else {
      text += special_tokens_.text(id);
    }
  }
  return text;
}

std::string Bytes::fingerprint() const {
  FingerprintText text("tokenizers/Bytes 1");
  special_tokens_.add_to(text);
  return text.digest();
}

ConfigOf<Tokenizer> Bytes::store(const std::filesystem::path&) const {
  BytesConfig config;
  special_tokens_.write_to(config);
  return config;
}

}  // namespace trivet::tokenizers
