// SPDX-License-Identifier: Apache-2.0
// The devices that a config is written for, as Pax describes them: a mesh with named axes, within a
// slice (ICI) and over slices (DCN).
//
//   [mesh]
//   ici_mesh_shape = [1, 16, 2]      # 32 devices; of replica, data and mdl
//   processes = 8                    # 4 devices each
//   percore_batch_size = 16          # 512 examples in a global batch
//
// A run trains a mesh whose axes cut the batch (replica, data, data_expert) or what layers compute
// (mdl, stage, seq). Each process trains the shards of its devices (trivet/backend/mesh_layout.h)
// one after another, each with a part of the batch, and computes the blocks of its devices
// (trivet/tensor/mesh_axis.h). Sums are made in an order that the mesh fixes, whatever the number
// of processes. `trivet check` and `trivet summary` tell what a process has to hold and to do, by a
// step on a meta device (trivet/tensor/meta_device.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/path.h"

namespace trivet {

struct MeshConfig {
  std::vector<std::int64_t> ici_mesh_shape;
  std::vector<std::int64_t> dcn_mesh_shape;
  std::vector<std::string> mesh_axis_names = {"replica", "data", "mdl"};
  std::int64_t processes = 1;
  std::string collective;
  Duration timeout = 600;
  std::int64_t check_interval = 1000;
  std::optional<std::int64_t> overlap;
  Path profile;
  std::string slice_of;
  double percore_batch_size = 0;

  // The overlap that a run begins with, where it is not set: what predictions assume.
  static constexpr std::int64_t kFirstOverlap = 2;
  static constexpr std::int64_t kMostOverlap = 16;
  std::int64_t assumed_overlap() const { return overlap.value_or(kFirstOverlap); }

  // Shapes have an extent of at least 1 for each axis, axes differ and are known, processes can
  // share the devices (MeshLayout::can_share), slice_of is one of its values,
  // percore_batch_size times all devices is an integer, and a profile is given only where it
  // chooses the overlap.
  TRIVET_API void validate(Diagnostics& diagnostics) const;

  // Extents over all slices: the product of both shapes, axis by axis. One device where no shape is
  // given.
  TRIVET_API std::vector<std::int64_t> shape() const;
  TRIVET_API std::int64_t devices() const;
  // Of an axis; 1 for one that the mesh does not have.
  TRIVET_API std::int64_t extent(std::string_view axis) const;
};
TRIVET_CONFIG(
    MeshConfig, trivet::NoBase,
    (ici_mesh_shape, "Devices along each axis within a slice, e.g. [1, 4, 1]; none: one device.",
     at_least(1)),
    (dcn_mesh_shape, "Slices along each axis; none: one slice.", at_least(1)),
    (mesh_axis_names,
     "Roles of the axes: replica (data alone is split), data (data and weights), mdl (weights and "
     "depths), data_expert (as data, and experts), stage (layers), seq (positions)."),
    (processes, "Number of processes that share the devices equally.", at_least(1), adjustable),
    (collective,
     "Engine that moves data between the processes, such as \"mpi/Mpi\". Empty: that of the "
     "launcher which has started them, or one that needs no launcher.",
     adjustable),
    (timeout,
     "How long a process waits for another one inside of a step before the run ends; such as "
     "\"10m\".",
     more_than(0), adjustable),
    (check_interval,
     "Steps from one comparison of what the processes hold alike, weights and states, to the next; "
     "a run whose processes differ ends. 0: never.",
     at_least(0), adjustable),
    (overlap,
     "Gathers of weights, and sums of their gradients, that may be under way while a step "
     "computes, "
     "each of a unit; 0: a step waits for each. Default: 2 at first, then chosen from a profile of "
     "the first steps.",
     between(0, 16), adjustable),
    (profile,
     "Profile of exchanges to choose overlap from, instead of measuring one: the "
     "communication.json "
     "of a run, or its directory. Empty: that of the run itself, if it has one.",
     adjustable),
    (slice_of,
     "With \"host\" a run does not start where a slice has processes on more machines than it "
     "needs. Empty: the machines of slices are not looked at.",
     adjustable),
    (percore_batch_size,
     "Examples of a global batch per device, also below 1; 0: the inputs' batch_size "
     "says.",
     at_least(0)))

// The global batch and what an input of each process has of it. As Pax computes it, hosts that have
// less than an example for each device read a batch of one per device, and fewer of them read.
struct BatchShare {
  std::int64_t global = 0;      // int(percore_batch_size * devices + 1e-6)
  std::int64_t batch_size = 0;  // of a process that reads
  std::int64_t num_infeed_hosts = 1;
};
// Of a mesh whose percore_batch_size is more than 0.
TRIVET_API BatchShare batch_share(const MeshConfig& mesh);

}  // namespace trivet
