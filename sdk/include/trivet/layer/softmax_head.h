// SPDX-License-Identifier: Apache-2.0
// The softmax that ends a language model, as an extension of the layer that holds its weights.
//
// Example (sdk/examples/snippets/softmax_head.cpp#make):
//
//   std::shared_ptr<Layer> layer = scope.layer("softmax", config.softmax_tpl);
//   SoftmaxHead& head = softmax_head(*layer, "softmax");  // Error where it is none
//
// Example (sdk/examples/snippets/softmax_head.cpp#use):
//
//   Tensor x = head.has_embedding() ? head.emb_lookup(ids, context) : table->fprop(ids, context);
//   Tensor h = decoder->fprop(x, context);
//   SoftmaxLoss loss = head.loss(h, batch.at("labels"), batch.at("weights"), context, {});
//   Tensor logits = head.logits(h, context);  // for decoding
//
// `loss` never has the logits of all rows at once (ops::linear_cross_entropy).
#pragma once

#include <cstdint>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/layer.h"
#include "trivet/tensor.h"

namespace trivet {

// Id for Layer::extension; what it returns points to a SoftmaxHead.
inline constexpr std::string_view kLayerSoftmaxHead = "trivet.layer.softmax_head/1";

struct SoftmaxLoss {
  Tensor total_xent;        // scalar: sum(weights * loss of the row)
  Tensor total_weight;      // scalar: sum(weights); no gradient
  Tensor avg_xent;          // scalar: total_xent / (total_weight + 1e-6), 0 when all weights are 0
  Tensor per_example_xent;  // f32 [..], unweighted; no gradient
  Tensor per_example_argmax;  // i32 [..], the class of the largest logit; only where asked for
};

struct SoftmaxLossOptions {
  bool argmax = false;  // costs the logits once more
};

class SoftmaxHead {
 public:
  // Last extent of the input, and number of classes. [run-thread]
  virtual std::int64_t input_dims() const = 0;
  virtual std::int64_t num_classes() const = 0;

  // h f32 [.., input_dims] -> [.., num_classes], capped where the head caps. [run-thread]
  virtual Tensor logits(const Tensor& h, FpropContext& context) = 0;

  // labels i32 [..] and weights f32 [..] for the rows of h [.., input_dims]. A negative label has
  // loss 0; one of num_classes or more is an Error. In training the rows' losses include what the
  // head adds to train better (label smoothing, z-loss); else they are -log p(label), unless the
  // head says otherwise. [run-thread]
  virtual SoftmaxLoss loss(const Tensor& h, const Tensor& labels, const Tensor& weights,
                           FpropContext& context, const SoftmaxLossOptions& options) = 0;

  // Whether its weights serve as the table of embeddings, too. [run-thread]
  virtual bool has_embedding() const = 0;
  // ids i32 [..] -> [.., input_dims]. Throws Error without an embedding. [run-thread]
  virtual Tensor emb_lookup(const Tensor& ids, FpropContext& context) = 0;

 protected:
  ~SoftmaxHead() = default;
};

// Throws Error that names the layer by `name` where it is no softmax head.
TRIVET_API SoftmaxHead& softmax_head(Layer& layer, std::string_view name);

}  // namespace trivet
