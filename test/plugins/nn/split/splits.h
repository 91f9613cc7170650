// SPDX-License-Identifier: Apache-2.0
// A layer on meshes with several devices along mdl or seq, against the same layer on one device.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/layer_fixture.h"

namespace trivet::test {

// What a layer computes from an input, its auxiliary losses by name, and the gradients of the input
// ("x") and of each variable.
struct Computed {
  std::vector<float> y;
  std::map<std::string, std::vector<float>> losses;
  std::map<std::string, std::vector<float>> gradients;
};

struct SplitCase {
  std::string name;
  ConfigOf<Layer> config;
  Shape input{};
  // Fills in what the layer reads of the context.
  std::function<void(FpropContext&, Device&)> prepare{};
  bool train = false;
};

// Variables that are not "w" are drawn, as they start at 0 or 1. The processes of a group share the
// devices; null: one process.
Computed compute(const SplitCase& layer, const std::string& backend, const MeshConfig& mesh,
                 ProcessGroup* group = nullptr);
Computed compute(const SplitCase& layer, const std::string& backend, std::int64_t mdl,
                 ProcessGroup* group = nullptr);

// Fails the test where an output, loss or gradient differs by more than a rounding error from that
// of one device: `tolerance` is of |a - b| / |b|, as l2 norms.
void check_equal(const Computed& split, const Computed& whole, double tolerance = 2e-5);

// All numbers of processes that can share the devices compute the bits of one process.
void check_processes(const MeshConfig& mesh, const Computed& one,
                     const std::function<Computed(ProcessGroup&)>& compute);
void check_processes(std::int64_t mdl, const Computed& one,
                     const std::function<Computed(ProcessGroup&)>& compute);

// Compares these devices, or numbers of them along mdl, with one, and all processes that can share
// the devices with one process, whose bits they have.
void check_split(const SplitCase& layer, const std::string& backend, const MeshConfig& mesh);
void check_split(const SplitCase& layer, const std::string& backend,
                 const std::vector<std::int64_t>& devices);

// A config with one field more.
ConfigOf<Layer> with_field(const ConfigOf<Layer>& config, const char* field, Value value);

}  // namespace trivet::test
