// SPDX-License-Identifier: Apache-2.0
// AxisExchange: what the ops of trivet/ops/ops_mesh.h and pipelines (trivet/layer/pipeline.h)
// exchange between the processes that share an axis (trivet/tensor/mesh_axis.h), and what weights
// and gradients in parts take (ParameterStore::build_in_parts). A device counts it where the
// exchange is made, as it counts FLOPs. A meta device (trivet/tensor/meta_device.h), which has no
// other processes, counts the same calls: so it is known what a step sends before any process runs
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

class Device;

struct AxisExchange {
  // All processes get the sum of the f32 tensors that they have, or what each of them has; their
  // part of such a sum (MeshShards::sum_to_part); or a tensor of which each has a part
  // (MeshShards::gather_parts). Or one process sends a tensor to the next one, or to all.
  enum class Kind {
    sum,
    gather,
    sum_to_part,
    gather_parts,
    sum_to_stage_part,   // as sum_to_part, of a tensor that the processes of one stage share
    gather_stage_parts,  // likewise
    send,
    broadcast,
    exchange_rows,  // each process sends as many rows to each other one (trivet/layer/row_share.h)
    gather_number   // all processes get what each has
  };
  Kind kind = Kind::sum;
  std::uint64_t bytes = 0;  // of the tensor that each process has, or of the whole one
  std::int64_t calls = 0;
  std::int64_t unit = 0;     // of the weights (ParameterStore), where it is one
  std::int64_t sharing = 1;  // of a sum or gather: the processes that share the axis
  bool operator==(const AxisExchange&) const = default;
};

// Of tensors of this device, since the last call or since open: one for each kind, size, unit
// and number of processes, in their order. [run-thread]
TRIVET_API std::vector<AxisExchange> take_axis_exchanges(Device& device);

}  // namespace trivet
