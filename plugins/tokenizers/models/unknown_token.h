// SPDX-License-Identifier: Apache-2.0
// "unk_token" of a model: the token of what the vocabulary lacks.
#pragma once

#include <cstdint>
#include <optional>

#include "tokenizers/models/token_model.h"

namespace trivet::tokenizers {

// Throws InputError if it is not a token of the model.
inline std::optional<std::int32_t> unknown_token(const JsonPart& model, const ModelTokens& tokens) {
  const auto name = model.optional_text("unk_token");
  if (!name) return std::nullopt;
  const auto id = tokens.find(*name);
  if (!id) model.field("unk_token").fail("is \"" + *name + "\", which is not a token of the model");
  return id;
}

}  // namespace trivet::tokenizers
