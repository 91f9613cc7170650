// SPDX-License-Identifier: Apache-2.0
// What inputs of text tell about their token ids: for tasks that print samples, for those that
// compare a model's vocabulary with the data's, and for `trivet data show`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/input.h"
#include "trivet/tokenizer.h"

namespace trivet {

// Id for Input::extension; what it returns points to a TextInput.
inline constexpr std::string_view kInputText = "trivet.input.text/1";

class TextInput {
 public:
  // Which ids: those of the batch fields "ids" and "labels", or of "src/..." and "tgt/...".
  enum class Side { only, source, target };

  // What made the ids; null when that is not known (token files whose config names none). It lives
  // as long as the input. [any-thread]
  virtual const Tokenizer* tokenizer(Side side = Side::only) const = 0;
  // All ids are below it; 0 when that is not known. [any-thread]
  virtual std::int64_t vocabulary_size(Side side = Side::only) const = 0;

 protected:
  ~TextInput() = default;
};

// The texts of the first lengths[i] of the ids [rows, T]; all T where `lengths` is empty. Throws
// Error when the sizes do not fit each other, InputError for an id that the tokenizer does not
// have.
TRIVET_API std::vector<std::string> ids_to_strings(const Tokenizer& tokenizer, const Tensor& ids,
                                                   std::span<const std::int64_t> lengths = {});

// The input as one of text, or null.
inline const TextInput* text_input(const Input& input) {
  return static_cast<const TextInput*>(input.extension(kInputText));
}

}  // namespace trivet
