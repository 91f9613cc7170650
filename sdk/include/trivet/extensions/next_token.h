// SPDX-License-Identifier: Apache-2.0
// How a model that predicts tokens from those before them is asked for the next one. The model
// derives from NextToken, too.
//
// Example (sdk/examples/snippets/model_extensions.cpp#next_token):
//
//   const void* extension(std::string_view id) const noexcept override {
//     return id == kModelNextToken ? static_cast<const NextToken*>(this) : nullptr;
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"

namespace trivet {

// Id for Model::extension; what it returns points to a NextToken.
inline constexpr std::string_view kModelNextToken = "trivet.model.next_token/3";

class TRIVET_API NextToken {
 public:
  // Number of token ids, which are 0 ... vocabulary_size() - 1. [run-thread]
  virtual std::int64_t vocabulary_size() const = 0;
  // The longest sequence it can take; 0: any. [run-thread]
  virtual std::int64_t longest_sequence() const = 0;
  // Memory of what a batch of sequences has been so far, for at most `max_length` positions; null
  // when a layer of the model has none: then every call takes the sequences from their start.
  // [run-thread]
  virtual std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                                 std::int64_t max_length) const = 0;
  // Whether the positions of a prompt see all of it, as those of a prefix language model do: then
  // the caller marks them in context.inputs_indicator, f32 [B, n], and gives a prompt in one chunk.
  // [run-thread]
  virtual bool sees_whole_prompt() const = 0;
  // Logits f32 [B, vocabulary_size] of the token after the last of ids i32 [B, n]: the positions
  // after those in `cache`, or with a null cache all of them. With a cache `context` may have
  // paddings and positions, as trivet/layer/extend_step.h says, for rows padded at the left. Off
  // the tape. [run-thread]
  virtual Tensor next_logits(const Tensor& ids, LayerCache* cache, FpropContext& context) const = 0;
  // Logits f32 [B, n, vocabulary_size] of the token after each of ids i32 [B, n], as next_logits
  // gives them one by one; `context` has neither paddings nor positions. The default calls
  // next_logits for each of them. [run-thread]
  virtual Tensor all_logits(const Tensor& ids, LayerCache& cache, FpropContext& context) const;

 protected:
  ~NextToken() = default;
};

}  // namespace trivet
