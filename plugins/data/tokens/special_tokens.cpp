// SPDX-License-Identifier: Apache-2.0
#include "data/tokens/special_tokens.h"

#include "trivet/error.h"

namespace trivet::data {

std::optional<std::int32_t> special_token(const SpecialTokenWish& wish,
                                          std::optional<std::int32_t> own,
                                          std::int64_t vocabulary_size, const std::string& input) {
  if (!wish.add.value_or(wish.id.has_value() || own.has_value())) return std::nullopt;
  const std::string name = wish.name, field = input + "." + name + "_id";
  const std::optional<std::int32_t> id = wish.id.has_value() ? wish.id : own;
  if (!id) {
    throw InputError(field + ": the tokenizer has no such token, but " + wish.flag + " = true",
                     {.hint = "set " + name + "_id, or " + wish.flag + " = false"});
  }
  if (vocabulary_size > 0 && *id >= vocabulary_size) {
    throw InputError(field + ": is " + std::to_string(*id) + ", but the largest id is " +
                     std::to_string(vocabulary_size - 1));
  }
  return id;
}

std::int64_t checked_vocabulary(const Tokenizer& tokenizer, const std::string& input) {
  const std::int64_t size = tokenizer.vocabulary_size();
  if (size < 1) throw InputError(input + ".tokenizer: has a vocabulary of " + std::to_string(size));
  return size;
}

}  // namespace trivet::data
