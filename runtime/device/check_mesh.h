// SPDX-License-Identifier: Apache-2.0
// Whether a run can train on the mesh of its config.
#pragma once

#include "config/resolver.h"
#include "trivet/trainer.h"

namespace trivet {

// Throws ConfigError for a training on a mesh whose axes cut more than the batch, whose shards do
// not divide the batch, or whose processes are not those that read the data. An evaluation needs no
// mesh.
void check_mesh(const ResolvedConfig& config);

// Throws ConfigError for a mesh of several shards that this trainer would not train.
void check_trainer(const ResolvedConfig& config, const Trainer& trainer);

}  // namespace trivet
