// SPDX-License-Identifier: Apache-2.0
#include "trivet/backend/mesh.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "trivet/backend/mesh_layout.h"

namespace trivet {
namespace {

constexpr std::array<std::string_view, 6> kAxes = {"replica",     "data",  "mdl",
                                                   "data_expert", "stage", "seq"};
constexpr std::int64_t kMostDevices = 1 << 24;
// As Pax, for products such as 0.1 * 10.
constexpr double kRounding = 1e-6;

std::string known_axes() {
  std::string text;
  for (const std::string_view axis : kAxes) text += (text.empty() ? "" : ", ") + std::string(axis);
  return text;
}

std::string listed(const std::vector<std::int64_t>& counts) {
  std::string text;
  for (const std::int64_t count : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count);
  }
  return text;
}

void check_axes(const std::vector<std::string>& names, Diagnostics& diagnostics) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(kAxes.begin(), kAxes.end(), *name) == kAxes.end()) {
      diagnostics.add("mesh_axis_names", "there is no axis '" + *name + "'",
                      "known are " + known_axes());
    } else if (std::find(names.begin(), name, *name) != name) {
      diagnostics.add("mesh_axis_names", "has '" + *name + "' twice");
    }
  }
}

bool fits(const char* field, const std::vector<std::int64_t>& shape, const MeshConfig& mesh,
          Diagnostics& diagnostics) {
  if (shape.empty() || shape.size() == mesh.mesh_axis_names.size()) return true;
  diagnostics.add(field,
                  "has " + std::to_string(shape.size()) + " extents for " +
                      std::to_string(mesh.mesh_axis_names.size()) + " axes",
                  "one for each of mesh_axis_names, 1 where nothing is split");
  return false;
}

// 0 where the product is too large to be meant.
std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count) || count > kMostDevices) return 0;
  }
  return count;
}

void check_batch(const MeshConfig& mesh, Diagnostics& diagnostics) {
  const double examples = mesh.percore_batch_size * static_cast<double>(mesh.devices());
  if (!(examples < 1e15) || std::abs(examples - std::round(examples)) > kRounding ||
      std::round(examples) < 1) {
    diagnostics.add("percore_batch_size", "times " + std::to_string(mesh.devices()) +
                                              " devices is " + to_toml(Value(examples)) +
                                              ", no number of examples");
    return;
  }
  const BatchShare share = batch_share(mesh);
  if (share.num_infeed_hosts > 0 && share.batch_size * share.num_infeed_hosts == share.global) {
    return;
  }
  diagnostics.add("percore_batch_size", "makes a global batch of " + std::to_string(share.global) +
                                            ", which processes that read " +
                                            std::to_string(share.batch_size) +
                                            " each cannot share");
}

}  // namespace

void MeshConfig::validate(Diagnostics& diagnostics) const {
  check_axes(mesh_axis_names, diagnostics);
  if (!slice_of.empty() && slice_of != "host") {
    diagnostics.add("slice_of", "is \"" + slice_of + "\"; it must be \"host\" or empty");
  }
  const bool ici = fits("ici_mesh_shape", ici_mesh_shape, *this, diagnostics);
  const bool dcn = fits("dcn_mesh_shape", dcn_mesh_shape, *this, diagnostics);
  if (!ici || !dcn) return;
  // In an extent, or else each may overflow the other.
  const std::int64_t in_slice = product(ici_mesh_shape), slices = product(dcn_mesh_shape);
  if (in_slice == 0 || slices == 0 || product({in_slice, slices}) == 0) {
    diagnostics.add(in_slice == 0 ? "ici_mesh_shape" : "dcn_mesh_shape",
                    "makes more than " + std::to_string(kMostDevices) + " devices");
    return;
  }
  if (const MeshLayout layout(*this); !layout.can_share(processes)) {
    diagnostics.add("processes", "is " + std::to_string(processes) + "; this mesh of " +
                                     std::to_string(devices()) + " devices can be shared by " +
                                     listed(layout.process_counts()));
    return;
  }
  if (overlap && !profile.empty()) {
    diagnostics.add("profile", "is set, and overlap, too: a profile is what overlap is chosen from",
                    "leave one of them out");
  }
  if (percore_batch_size > 0) check_batch(*this, diagnostics);
}

std::vector<std::int64_t> MeshConfig::shape() const {
  std::vector<std::int64_t> extents(mesh_axis_names.size(), 1);
  for (const auto* part : {&ici_mesh_shape, &dcn_mesh_shape}) {
    for (std::size_t i = 0; i < std::min(part->size(), extents.size()); ++i) {
      extents[i] *= (*part)[i];
    }
  }
  return extents;
}

std::int64_t MeshConfig::devices() const {
  return product(shape());
}

std::int64_t MeshConfig::extent(std::string_view axis) const {
  const auto found = std::find(mesh_axis_names.begin(), mesh_axis_names.end(), axis);
  if (found == mesh_axis_names.end()) return 1;
  return shape()[static_cast<std::size_t>(found - mesh_axis_names.begin())];
}

BatchShare batch_share(const MeshConfig& mesh) {
  const auto devices = static_cast<double>(mesh.devices());
  const std::int64_t local = mesh.devices() / mesh.processes;
  BatchShare share;
  share.global = static_cast<std::int64_t>(mesh.percore_batch_size * devices + kRounding);
  if (mesh.percore_batch_size >= 1) {
    share.batch_size = static_cast<std::int64_t>(std::ceil(mesh.percore_batch_size)) * local;
  } else {
    share.batch_size = mesh.processes > 1 ? local : share.global;
  }
  share.num_infeed_hosts = share.global / share.batch_size;
  return share;
}

}  // namespace trivet
