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

// A text that each row of a batch holds as token ids.
struct BatchText {
  std::string name;         // what people see it under: "text", "source"
  std::string ids;          // the field of its ids, i32 [rows, T]
  std::string segment_ids;  // i32 [rows, T]: where it changes another text begins, 0 is none; empty
                            // or not in the batch: a row is one text
  std::vector<std::string> told;         // fields that need not be seen beside the text
  const Tokenizer* tokenizer = nullptr;  // lives as long as the input
};

class TextInput {
 public:
  // Which ids: those of an input of one text, or what is read and what is written in its place.
  enum class Side { only, source, target };

  // What made the ids; null when that is not known (token files whose config names none). It lives
  // as long as the input. [any-thread]
  virtual const Tokenizer* tokenizer(Side side = Side::only) const = 0;
  // All ids are below it; 0 when that is not known. [any-thread]
  virtual std::int64_t vocabulary_size(Side side = Side::only) const = 0;
  // The texts of its batches, for `trivet data show`; those whose tokenizer is not known are left
  // out. [any-thread]
  virtual std::vector<BatchText> texts() const = 0;

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
