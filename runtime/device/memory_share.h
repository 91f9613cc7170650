// SPDX-License-Identifier: Apache-2.0
// What one device of a config's mesh has of a training, as Pax' default annotations of language
// models split it; an estimate, for nothing is placed here.
//
//   weights, gradients, slots   those of rank 2 and more over data, data_expert, mdl and stage
//                               (w_df [data, mdl] and so on); vectors are on every device
//   batch                       over replica, data and data_expert
//   memory of a step            that of the device's rows, over mdl, seq and stage
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/experiment.h"
#include "trivet/trainer.h"

namespace trivet {

// Examples of a training batch over all processes; 0 where the config does not say.
std::int64_t global_batch(const ExperimentConfig& experiment);

// What a device computes with its neighbors along mdl, seq and stage; at least 1.
std::int64_t rows_per_device(const ExperimentConfig& experiment);

// The task with a training input of so many rows.
ConfigOf<Task> with_rows(const ConfigOf<Task>& task, std::int64_t rows);

struct MemoryPart {
  std::string name;                // "weights", "gradients", "states", "averages", a slot's
  std::uint64_t bytes = 0;         // of all
  std::uint64_t device_bytes = 0;  // of one device's share
};

// What a trainer keeps from step to step. Writes nothing.
std::vector<MemoryPart> memory_parts(Trainer& trainer, const MeshConfig& mesh);

// Of the bytes that a step with rows_per_device takes.
std::uint64_t share_of_step(std::uint64_t bytes, const MeshConfig& mesh);

}  // namespace trivet
