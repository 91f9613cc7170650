// SPDX-License-Identifier: Apache-2.0
// Whether a run can train on the mesh of its config.
#pragma once

#include "config/resolver.h"
#include "trivet/trainer.h"

namespace trivet {

// Throws ConfigError for a training on a mesh with several devices along stage or seq, whose shards
// do not divide the batch, or whose processes are not those that read the data. An evaluation needs
// no mesh.
void check_mesh(const ResolvedConfig& config);

// Throws ConfigError where the task's model cannot be split over the devices of the mesh along mdl.
// Makes its layers, without weights.
void check_split(Task& task, const MeshConfig& mesh);

// Throws ConfigError for a mesh of several shards or blocks that this trainer would not train.
void check_trainer(const ResolvedConfig& config, const Trainer& trainer);

}  // namespace trivet
