// SPDX-License-Identifier: Apache-2.0
// Estimates the memory share of one device of a config's mesh in training, if split like Pax'
// default annotations of language models. Runs do not split weights: process_memory.h.
//
//   weights, gradients, slots   those of rank 2 and more over data, data_expert, mdl and stage
//                               (w_df [data, mdl] and so on); vectors are on every device
//   batch                       over replica, data and data_expert
//   memory of a step            that of the device's rows, over mdl, seq and stage
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trivet/experiment.h"
#include "trivet/trainer.h"

namespace trivet {

// Examples of a training batch over all processes. 0 if the config does not set them.
std::int64_t global_batch(const ExperimentConfig& experiment);

// task.train_input.num_infeed_hosts.
std::int64_t infeed_hosts(const ExperimentConfig& experiment);

// The number of devices along mdl, seq and stage that share a computation. At least 1.
std::int64_t rows_per_device(const ExperimentConfig& experiment);

// The task with a training input of this many rows.
ConfigOf<Task> with_rows(const ConfigOf<Task>& task, std::int64_t rows);

struct MemoryPart {
  std::string name;         // "weights", "gradients", "states", "frozen", "averages", a slot's
  std::uint64_t bytes = 0;  // of all devices
  std::uint64_t device_bytes = 0;  // of one device
  // Of all devices, by the path of the variable.
  std::map<std::string, std::uint64_t, std::less<>> of_variables{};
};

// The tensors that a trainer keeps between steps. Writes nothing.
std::vector<MemoryPart> memory_parts(Trainer& trainer, const MeshConfig& mesh);

// One device's share of the bytes of a step with rows_per_device.
std::uint64_t share_of_step(std::uint64_t bytes, const MeshConfig& mesh);

}  // namespace trivet
