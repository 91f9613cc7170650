// SPDX-License-Identifier: Apache-2.0
// Layer: tensor in, tensor out, with weights. The building block that models are put together from.
//
// A concrete layer has `using Config = MyConfig` (a struct derived from LayerConfig, described by
// TRIVET_CONFIG) and a constructor (const Config&, Scope&) that makes its parameters and children.
// It is registered with trivet::layer<MyLayer>("MyLayer", "What it does."). All calls come from the
// run thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/layer/scope.h"
#include "trivet/layer/summaries.h"
#include "trivet/object.h"
#include "trivet/tensor.h"
#include "trivet/tensor/nested_map.h"
#include "trivet/tensor/random.h"

namespace trivet {

// What travels through a forward pass beside the activations.
struct FpropContext {
  bool train = false;
  std::int64_t step = 0;
  RngKey key{
      0};  // of the run; already folded with the step and, when accumulating, the micro-batch
  Tensor positions;    // i32 [B, T] or undefined
  Tensor segment_ids;  // i32 [B, T] or undefined
  Tensor paddings;     // f32 [B, T], 1 = padding, or undefined
  // Prefix language models: f32 [B, T], 1 = a position of the prefix, which causal attention lets
  // all positions of its segment see; or undefined.
  Tensor inputs_indicator;
  // i32 [B] or [B, T], the task of each row or position; or undefined. Layers with weights for each
  // of several tasks read them.
  Tensor task_ids;
  // What cross-attention looks at: f32 [B, S, D] and, as above, f32 [B, S] and i32 [B, S]; or
  // undefined. Sequence-to-sequence models set them; only layers with cross-attention read them.
  Tensor cross_inputs, cross_paddings, cross_segment_ids;
  // A layer is run again only to have its gradients (remat.h): it leaves its states alone.
  bool recomputing = false;
  NestedMap aux_losses;  // scalars; their sum is added to the loss
  Summaries summaries;   // what layers want seen

  // The key for one purpose of one layer at this step, e.g. key_for(path_, "dropout").
  RngKey key_for(std::string_view path, std::string_view purpose) const {
    return key.fold(path).fold(purpose);
  }
};

struct LayerConfig {
  std::string shared;
};
TRIVET_CONFIG(LayerConfig, trivet::NoBase,
              (shared, "Layers with the same shared name are one layer with one set of weights."))

class TRIVET_API Layer : public Object {
 public:
  static constexpr std::string_view kKind = "layer";
  using Config = LayerConfig;
  using Context = Scope;

  ~Layer() override;

  // The shape of the result is the layer's to document. Throws Error (naming the layer's path) for
  // an input it cannot take. [run-thread]
  virtual Tensor fprop(const Tensor& x, FpropContext& context) = 0;
};

}  // namespace trivet
