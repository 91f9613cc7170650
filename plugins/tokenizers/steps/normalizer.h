// SPDX-License-Identifier: Apache-2.0
// The normalizers of tokenizer.json: what they make of a text before it is split.
#pragma once

#include <memory>
#include <string>

#include "tokenizers/text/json_part.h"

namespace trivet::tokenizers {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // `text` must be well-formed UTF-8, and so is the result. [any-thread]
  virtual std::string apply(std::string text) const = 0;
};

// Null for null. Throws InputError for a type or field that is not supported.
std::unique_ptr<Normalizer> read_normalizer(const JsonPart& part);

}  // namespace trivet::tokenizers
