// SPDX-License-Identifier: Apache-2.0
// Rematerialization (gradient checkpointing, Chen et al. 2016): what a function computes inside is
// not kept for the gradients but computed again when they are needed. Less memory, a third more
// work. What `keeps` names (trivet/ops/remat_keeps.h) is kept, and not computed again.
//
// Example (sdk/examples/snippets/gradients.cpp#remat):
//
//   Tensor y = remat(*layer, x, context);  // as layer->fprop(x, context)
//
// Gradients are bit for bit those without: random numbers are pure functions of path and step, ops
// give the same bits twice, and the second run's gradients are added to the same memory in the same
// order. What is computed twice counts once as FLOPs of the model. [run-thread]
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/layer.h"
#include "trivet/ops/remat_keeps.h"
#include "trivet/tensor.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

enum class RematPass {
  forward,
  backward,  // computed again for the gradients
};

// What is run: once now, and once more in the backward pass, with tensors of the same values. It
// must do the same both times, and may use parameters beside its inputs; what it holds is kept
// until then.
using Rematerialized =
    std::function<std::vector<Tensor>(std::span<const Tensor> inputs, RematPass pass)>;

// The outputs of `fn`, at most 4 of at most 5 inputs. Without a tape, or where no output needs a
// gradient, this is fn(inputs, RematPass::forward). Inside of a rematerialized function whose
// policy keeps the outputs by name, fn does not run in that one's second run, but for its own
// gradients alone; and what is kept inside of fn is its own policy's choice.
TRIVET_API std::vector<Tensor> remat(Rematerialized fn, std::span<const Tensor> inputs,
                                     const RematKeeps& keeps = {});

// The same of a function with auxiliary losses (FpropContext::aux_losses), which it sets: scalars
// f32, of the same names in both runs. They are added to `losses`.
using RematerializedLosses =
    std::function<Tensor(std::span<const Tensor> inputs, RematPass pass, NestedMap& losses)>;
TRIVET_API Tensor remat(RematerializedLosses fn, std::span<const Tensor> inputs, NestedMap& losses,
                        const RematKeeps& keeps = {});

// layer.fprop(x, context), with its auxiliary losses and summaries. Gradients flow to x and to the
// context's cross_inputs. `layer` must outlive the tape. In the second run the layer finds
// context.recomputing set, and must leave its states alone.
TRIVET_API Tensor remat(Layer& layer, const Tensor& x, FpropContext& context,
                        const RematKeeps& keeps = {});

}  // namespace trivet
