// SPDX-License-Identifier: Apache-2.0
// How a model that reads one sequence and writes another (an encoder with a decoder) is asked what
// it writes. The model derives from TargetDecoding, too.
//
// Example (sdk/examples/snippets/model_extensions.cpp#target_decoding):
//
//   const void* extension(std::string_view id) const noexcept override {
//     return id == kModelTargetDecoding ? static_cast<const TargetDecoding*>(this) : nullptr;
//   }
#pragma once

#include <memory>
#include <string_view>

#include "trivet/extensions/next_token.h"

namespace trivet {

// Id for Model::extension; what it returns points to a TargetDecoding.
inline constexpr std::string_view kModelTargetDecoding = "trivet.model.target_decoding/1";

class TargetDecoding {
 public:
  // Tells the tokens of targets of one source, ids i32 [1, S]: any number of them at once, one a
  // row. The model outlives it. Throws Error for a source that the model cannot take. Off the tape.
  // [run-thread]
  virtual std::shared_ptr<const NextToken> with_source(const Tensor& ids) const = 0;

 protected:
  ~TargetDecoding() = default;
};

}  // namespace trivet
