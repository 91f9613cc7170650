// SPDX-License-Identifier: Apache-2.0
// Whether a run can train on the mesh of its config.
#pragma once

#include <cstdint>
#include <vector>

#include "config/resolver.h"
#include "trivet/trainer.h"

namespace trivet {

// All numbers of processes that can train on the mesh, ascending. Its shapes and axes must be
// valid.
std::vector<std::int64_t> training_process_counts(const MeshConfig& mesh);

// Throws ConfigError for a training on a mesh with several devices along stage or seq, whose shards
// do not divide the batch, or whose processes share blocks of weights or are not those that read
// the data. An evaluation needs no mesh.
void check_mesh(const ResolvedConfig& config);

// Throws ConfigError where the task's model cannot be split over the devices of the mesh along mdl.
// Makes its layers, without weights.
void check_split(Task& task, const MeshConfig& mesh);

// Throws ConfigError for a mesh of several shards or blocks that this trainer would not train.
void check_trainer(const ResolvedConfig& config, const Trainer& trainer);

}  // namespace trivet
