// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/mesh.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "tensor/axis_processes.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"

namespace trivet {
namespace {

SumTree axis_tree(std::int64_t slices, std::int64_t within) {
  return SumTree(std::array{slices, within});
}

std::int64_t extent_at(const std::vector<std::int64_t>& shape, std::size_t axis) {
  return axis < shape.size() ? shape[axis] : 1;
}

// The first has the blocks of a process, the second is over what they give.
std::pair<SumTree, SumTree> parts_of(const SumTree& tree, std::int64_t processes) {
  const auto parts =
      tree.size() % processes == 0 ? tree.split(tree.size() / processes) : std::nullopt;
  if (parts) return *parts;
  throw Error(std::to_string(processes) + " processes cannot share the " +
              std::to_string(tree.size()) + " devices along an axis");
}

// Nothing is summed over stages, so any run of them may be of one process.
SumTree tree_for(std::string_view axis, const SumTree& tree, std::int64_t own) {
  return axis == MeshLayout::kStageAxis ? axis_tree(tree.size() / own, own) : tree;
}

}  // namespace

MeshAxis::MeshAxis(std::int64_t extent) : MeshAxis(axis_tree(1, extent)) {}

MeshAxis::MeshAxis(SumTree tree) : tree_(std::move(tree)), own_tree_(tree_) {}

MeshAxis::MeshAxis(const SumTree& tree, std::shared_ptr<ProcessGroup> group) : MeshAxis(tree) {
  if (group->size() == 1) return;
  auto parts = parts_of(tree, group->size());
  own_tree_ = std::move(parts.first);
  process_tree_ = std::move(parts.second);
  first_ = group->rank() * count();
  processes_ = std::make_shared<detail::AxisProcesses>(std::move(group), process_tree_);
}

MeshAxis MeshAxis::of_first_process(const SumTree& tree, std::int64_t processes) {
  MeshAxis axis(tree);
  std::tie(axis.own_tree_, axis.process_tree_) = parts_of(tree, processes);
  return axis;
}

MeshAxis MeshAxis::of_processes() const {
  MeshAxis axis(process_tree_);
  axis.own_tree_ = SumTree();
  axis.process_tree_ = process_tree_;
  axis.first_ = first_ / count();
  axis.processes_ = processes_;
  return axis;
}

Mesh::Mesh() : Mesh(MeshConfig()) {}

Mesh::Mesh(const MeshConfig& mesh) : names_(mesh.mesh_axis_names) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    axes_.emplace_back(
        axis_tree(extent_at(mesh.dcn_mesh_shape, i), extent_at(mesh.ici_mesh_shape, i)));
  }
}

Mesh::Mesh(const MeshConfig& mesh, ProcessGroup* group) : Mesh(mesh) {
  if (group == nullptr || group->size() == 1) return;
  const MeshLayout layout(mesh);
  const std::int64_t rank = group->rank(), processes = group->size();
  const std::int64_t shard = layout.shards_of(rank, processes).first;
  for (const std::string_view name : MeshLayout::kInnerAxes) {
    const MeshLayout::Run own = layout.coordinates_of(rank, processes, name);
    MeshAxis* const axis = find(name);
    if (axis == nullptr || own.count == axis->extent()) continue;
    const std::int64_t others = layout.work_of(rank, processes, name) * layout.shards() + shard;
    const SumTree tree = tree_for(name, axis->tree(), own.count);
    *axis = MeshAxis(tree, group->split(static_cast<int>(others)));
  }
}

Mesh Mesh::of_first_process(const MeshConfig& mesh) {
  Mesh paper(mesh);
  const MeshLayout layout(mesh);
  for (const std::string_view name : MeshLayout::kInnerAxes) {
    const std::int64_t own = layout.coordinates_of(0, mesh.processes, name).count;
    MeshAxis* const axis = paper.find(name);
    if (axis == nullptr || own == axis->extent()) continue;
    *axis = MeshAxis::of_first_process(tree_for(name, axis->tree(), own), axis->extent() / own);
  }
  return paper;
}

MeshAxis* Mesh::find(std::string_view name) {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? nullptr : &axes_[static_cast<std::size_t>(found - names_.begin())];
}

const MeshAxis& Mesh::axis(std::string_view name) const {
  static const MeshAxis one;
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? one : axes_[static_cast<std::size_t>(found - names_.begin())];
}

}  // namespace trivet
