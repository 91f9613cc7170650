// SPDX-License-Identifier: Apache-2.0
// Pipelines: layers in stages, each computed by the devices of one coordinate along an axis of the
// mesh. The batch goes through them in micro-batches, so that all stages compute at the same time:
// first all forward, then all backward (Huang et al. 2019, GPipe). For M micro-batches and S stages
// a pass takes M + S - 1 times that of a micro-batch in a stage, and each stage is idle in S - 1.
//
// With circular_repeat V the layers are in S V parts, of which part p is of stage p % S: less idle
// time for more transfers (Narayanan et al. 2021, "interleaved"; Praxis' circular_repeat).
//
// Where several processes share the axis, each computes its stages alone; all compute the layers
// before and after the pipeline, as with Pax. The bits are the same for any number of processes.
//
// Example (sdk/examples/snippets/layer.cpp#pipeline):
//
//   return pipeline(x, axis, {.num_microbatches = 4},
//                   [&](const Tensor& rows, std::int64_t part, std::int64_t) {
//                     return layers[static_cast<std::size_t>(part)]->fprop(rows, context);
//                   });
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "trivet/base/export.h"
#include "trivet/tensor.h"
#include "trivet/tensor/mesh_axis.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

struct PipelineShape {
  std::int64_t num_microbatches = 1;
  std::int64_t circular_repeat = 1;

  // The idle share of a pass of S stages, or of S processes of as many stages each: of (V - 1)
  // max(M, S) + M + S - 1 times each works in M V.
  double idle_share(std::int64_t stages) const {
    const std::int64_t longest = num_microbatches > stages ? num_microbatches : stages;
    const std::int64_t all = (circular_repeat - 1) * longest + num_microbatches + stages - 1;
    const std::int64_t busy = num_microbatches * circular_repeat;
    return static_cast<double>(all - busy) / static_cast<double>(all);
  }
};

// What a part of the layers makes of a micro-batch: a tensor of the shape and type of `x`. Its
// parameters are of scopes of the part's stage (Scope::at_stage). `x` and they are all that
// gradients flow to. Auxiliary losses leave it by pipeline_losses.
using PipelinePart =
    std::function<Tensor(const Tensor& x, std::int64_t part, std::int64_t microbatch)>;

// x after all parts of the layers. Micro-batch m of M has the rows [m B / M, (m + 1) B / M) of B.
// Each process of the axis has the same x and gets the same result; gradients likewise. All of them
// make this call. Throws Error for a batch that the micro-batches do not divide, RunError where
// another process is gone. [run-thread]
TRIVET_API Tensor pipeline(const Tensor& x, const MeshAxis& stages, const PipelineShape& shape,
                           const PipelinePart& part);

// The auxiliary losses (FpropContext::aux_losses) of the layers of all parts: of each the mean over
// the micro-batches, which a run has that accumulates the gradients of as many, of equal weights.
// `own[m]` has those of micro-batch m in the parts of this process. The result is the same in all
// processes, in the order of the names; gradients flow to the layers of this process alone. All of
// them make this call, after that of pipeline(). Throws Error for what is no scalar f32, and for a
// name that layers of two processes use, RunError where another process is gone. [run-thread]
TRIVET_API NestedMap pipeline_losses(std::span<const NestedMap> own, const MeshAxis& stages,
                                     Device& device);

// A pipeline that tensors of a device went through.
struct PipelineUse {
  std::int64_t stages = 1;
  PipelineShape shape;
  double flops = 0;  // FlopCount::model_flops of the parts that this process has, of all passes
};
// The last one since the last call or since open. [run-thread]
TRIVET_API std::optional<PipelineUse> take_pipeline(Device& device);

}  // namespace trivet
