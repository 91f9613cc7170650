// SPDX-License-Identifier: Apache-2.0
#include "trivet/tokenizer.h"

#include "trivet/error.h"

namespace trivet {

Tokenizer::~Tokenizer() = default;

std::string Tokenizer::token_text(std::int32_t id) const {
  return decode({&id, 1});
}

std::optional<std::int32_t> Tokenizer::token_id(std::string_view text) const {
  std::optional<std::int32_t> found;
  for (std::int32_t id = 0; id < vocabulary_size(); ++id) {
    if (token_text(id) != text) continue;
    if (is_special(id)) return id;
    if (!found) found = id;
  }
  return found;
}

bool Tokenizer::is_special(std::int32_t id) const {
  check_id(id);
  return id == bos_id() || id == eos_id() || id == pad_id();
}

std::optional<std::int32_t> Tokenizer::bos_id() const {
  return std::nullopt;
}
std::optional<std::int32_t> Tokenizer::eos_id() const {
  return std::nullopt;
}
std::optional<std::int32_t> Tokenizer::pad_id() const {
  return std::nullopt;
}
std::optional<std::int32_t> Tokenizer::unknown_id() const {
  return std::nullopt;
}

std::optional<std::string> Tokenizer::tokenizer_json() const {
  return std::nullopt;
}

ConfigOf<Tokenizer> Tokenizer::store(const std::filesystem::path&) const {
  return {};
}

void Tokenizer::check_id(std::int32_t id) const {
  if (id >= 0 && id < vocabulary_size()) return;
  throw InputError(
      "token id " + std::to_string(id) + " is out of range: the tokenizer has the ids 0 to " +
          std::to_string(vocabulary_size() - 1),
      {.hint = "the ids come from another tokenizer, or from a model with a larger vocabulary"});
}

}  // namespace trivet
