// SPDX-License-Identifier: Apache-2.0
// The communication engine of a run of several processes.
#pragma once

#include <span>
#include <string>

#include "trivet/backend/collective.h"
#include "trivet/backend/mesh.h"

namespace trivet {

struct RunEngine {
  std::string key;
  const tv_collective* engine = nullptr;
  // As a launcher has started this process; rank -1: none has.
  int rank = -1;
  int size = 0;

  bool is_launched() const { return rank >= 0; }
};

// mesh.collective, or without it of these keys of kind "collective": the one whose launcher has
// started this process, else the first that needs no launcher of its own, else the first. Throws
// ConfigError where there is none, PluginError for an engine that cannot be used.
RunEngine run_engine(const MeshConfig& mesh, std::span<const std::string> keys);

// Throws ConfigError if a launcher has started several processes that the engine does not know of:
// each would start processes of its own.
void refuse_lone_tasks(const RunEngine& engine, const MeshConfig& mesh);

}  // namespace trivet
