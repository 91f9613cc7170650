// SPDX-License-Identifier: Apache-2.0
// communication.json of a run: the profile of its exchanges, and the overlap that was chosen from
// it. A run that continues reads it, and mesh.profile names one of another run.
//
//   {"version": 1, "mesh": {"axes": [...], "ici": [...], "dcn": [...], "processes": 4},
//    "weights": 10800000, "collective": "mpi/Mpi", "machine": {"host": ..., "cores": 16},
//    "steps": 5, "sequences": [{"processes": [0, 1, 2, 3], "exchanges": [...], ...}],
//    "overlap": 3, "expected": [{"overlap": 0, "step_seconds": ..., "exposed_seconds": ...}, ...]}
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/resolver.h"
#include "processes/overlap_tuner.h"
#include "processes/world.h"
#include "trivet/train/checkpoint.h"
#include "trivet/trainer.h"

namespace trivet {

// Throws ConfigError if mesh.profile is missing, damaged, or of another mesh.
void check_communication(const ResolvedConfig& config);

// On process 0.
struct CommunicationParts {
  const ResolvedConfig& config;
  std::filesystem::path directory;  // of the run
  World& world;
  Device& device;
  Trainer& trainer;
  std::function<void(const std::string&)> note, warn;
};

// What chooses the overlap of a run; null where mesh.overlap says it. Throws ConfigError if
// mesh.profile is of another model.
std::unique_ptr<OverlapTuner> make_overlap_tuner(const CommunicationParts& parts);

// Why mesh.overlap or mesh.profile, which the config sets, does nothing; otherwise empty. Null: the
// run is one process.
std::string unused_overlap(const MeshConfig& mesh, const World* world, Trainer& trainer);

}  // namespace trivet
