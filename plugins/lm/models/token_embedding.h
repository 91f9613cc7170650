// SPDX-License-Identifier: Apache-2.0
// TokenEmbedding: embeds token ids by a layer of its own or by the table of the model's softmax
// (Press and Wolf 2017).
#pragma once

#include <memory>

#include "trivet/layer/softmax_head.h"

namespace trivet::lm {

class TokenEmbedding {
 public:
  // `own` may be null. Throws Error, naming `model`, if then `head` has no table. `head` must
  // outlive it. `projection`, if it is not null, follows the table.
  TokenEmbedding(std::shared_ptr<Layer> own, SoftmaxHead& head, const char* model,
                 std::shared_ptr<Layer> projection = nullptr);
  explicit TokenEmbedding(std::shared_ptr<Layer> own) : own_(std::move(own)) {}

  // ids i32 [B, T] -> [B, T, D].
  Tensor fprop(const Tensor& ids, FpropContext& context) const;

 private:
  std::shared_ptr<Layer> own_, projection_;
  SoftmaxHead* head_ = nullptr;
};

}  // namespace trivet::lm
