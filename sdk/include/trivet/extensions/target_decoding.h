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
#include <span>
#include <string_view>

#include "trivet/extensions/next_token.h"

namespace trivet {

// Id for Model::extension; what it returns points to a TargetDecoding.
inline constexpr std::string_view kModelTargetDecoding = "trivet.model.target_decoding/2";

class TargetDecoding {
 public:
  // Tells the tokens of targets of sources, ids i32 [1, S] of any lengths: row i is a target of
  // source i. Of one source any number of targets at once, one a row. The model outlives it. Throws
  // Error for a source that the model cannot take. Off the tape. [run-thread]
  virtual std::shared_ptr<const NextToken> with_sources(std::span<const Tensor> ids) const = 0;

 protected:
  ~TargetDecoding() = default;
};

}  // namespace trivet
