// SPDX-License-Identifier: Apache-2.0
// step_prediction: how long a training step would take on a mesh, from arithmetic alone.
//
// A process computes its shards one after another on one device: FLOPs of the model / FLOP per
// second. It exchanges (device/step_exchanges.h): each message takes the latency, and all bytes
// that it sends take their time at the bandwidth, of the network within its slice or of that
// between slices. The part of that time that is not hidden behind computation (hidden_seconds) is
// exposed, and a step is the sum of both. In a pipeline it waits for other stages, too
// (PipelineShape::idle_share). The optimizer and sums are no FLOPs of the model: a rate that a run
// has measured has their time in it, the peak of a device has not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/resolver.h"
#include "device/network.h"
#include "run/inspection.h"

namespace trivet {

struct StepPrediction {
  std::int64_t devices = 0;
  MeshConfig mesh;
  std::string refused{};  // why no run trains this mesh; the rest is then 0
  double compute_seconds = 0;
  double exchange_seconds = 0;
  double exposed_seconds = 0;       // of them
  std::uint64_t sent_bytes = 0;     // by a process
  std::uint64_t between_bytes = 0;  // of them to other slices
  std::uint64_t memory_bytes = 0;   // of a process

  double step_seconds() const { return compute_seconds + exposed_seconds; }
};

// Of what was inspected on a mesh that runs train.
StepPrediction predict_step(const Inspection& seen, const Networks& networks, double flop_rate);

// The mesh with so many devices: `mdl`, `data_expert`, `stage` and `seq` keep their extents, `data`
// has the rest (or `replica`, where `data` has one device and `replica` several), and there is one
// slice. The number of processes is the largest that can train it with no more of them for a shard
// than the mesh has: one, unless its processes share a shard. Throws ConfigError if the extents do
// not divide the devices.
MeshConfig scaled_mesh(const MeshConfig& mesh, std::int64_t devices);

// The config's own mesh, then those of so many devices, or of the next multiple of the devices that
// scaled_mesh keeps. The size of the batch is what
// mesh.percore_batch_size makes it, else the config's. Throws UsageError for a config of several
// training stages or that trains nothing. [main-thread]
std::vector<StepPrediction> predict_steps(const ConfigRequest& request, ConfigCatalog& catalog,
                                          const std::vector<Inspection>& own,
                                          std::span<const std::int64_t> devices,
                                          const Networks& networks, double flop_rate);

}  // namespace trivet
