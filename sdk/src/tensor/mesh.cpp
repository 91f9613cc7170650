// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/mesh.h"

#include <algorithm>
#include <array>
#include <utility>

#include "trivet/backend/mesh.h"

namespace trivet {
namespace {

SumTree axis_tree(std::int64_t slices, std::int64_t within) {
  return SumTree(std::array{slices, within});
}

std::int64_t extent_at(const std::vector<std::int64_t>& shape, std::size_t axis) {
  return axis < shape.size() ? shape[axis] : 1;
}

}  // namespace

MeshAxis::MeshAxis(std::int64_t extent) : MeshAxis(axis_tree(1, extent)) {}

MeshAxis::MeshAxis(SumTree tree) : tree_(std::move(tree)), extent_(tree_.size()) {}

Mesh::Mesh() : Mesh(MeshConfig()) {}

Mesh::Mesh(const MeshConfig& mesh) : names_(mesh.mesh_axis_names) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    axes_.emplace_back(
        axis_tree(extent_at(mesh.dcn_mesh_shape, i), extent_at(mesh.ici_mesh_shape, i)));
  }
}

const MeshAxis& Mesh::axis(std::string_view name) const {
  static const MeshAxis one;
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? one : axes_[static_cast<std::size_t>(found - names_.begin())];
}

}  // namespace trivet
