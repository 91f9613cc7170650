// SPDX-License-Identifier: Apache-2.0
// What a process has of weights in parts (ParameterStore::build_in_parts), or of the update of
// whole ones, for its memory and for what it sends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

class ParameterStore;  // trivet/layer/parameter_store.h
struct MeshConfig;     // trivet/backend/mesh.h

// Elements, with the padding between variables.
struct WeightShare {
  std::int64_t all = 0;      // the block of trainable variables
  std::int64_t own = 0;      // the parts of the process that has most
  std::int64_t whole = 0;    // the most that is whole at once while ops read it
  std::int64_t ahead = 0;    // the most that is gathered ahead beside it (MeshConfig::overlap)
  std::int64_t largest = 0;  // what is exchanged at once: a unit
  std::int64_t units = 0;    // their number
  bool keeps_all = false;    // all weights are always whole (ParameterStore::Keeps::all)
  // Where devices own whole variables: what each process has of each unit, and the process of each
  // trainable variable, by path. Empty where they own equal pieces.
  std::vector<std::vector<std::int64_t>> parts{};
  std::map<std::string, std::int64_t, std::less<>> owners{};
};

// Of a model that is built, on any device, for mesh.processes.
TRIVET_API WeightShare weight_share(const ParameterStore& store, const MeshConfig& mesh);
// The same where processes have whole weights and share the update: the block is one unit.
TRIVET_API WeightShare update_share(const ParameterStore& store, const MeshConfig& mesh);

}  // namespace trivet
