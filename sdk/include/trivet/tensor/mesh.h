// SPDX-License-Identifier: Apache-2.0
// Mesh: the axes of a mesh (trivet/backend/mesh.h) as layers see them (Scope::mesh). Layers
// need not know which axes cut the batch: MeshShards does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/tensor/mesh_axis.h"

namespace trivet {

struct MeshConfig;   // trivet/backend/mesh.h
class ProcessGroup;  // trivet/backend/process_group.h

class TRIVET_API Mesh {
 public:
  // One device, with the axes of a MeshConfig that sets none.
  Mesh();
  // The config must be valid (MeshConfig::validate).
  explicit Mesh(const MeshConfig& mesh);
  // As seen by this process of the group of all that share the mesh, which must outlive this; null:
  // this process is alone. All processes make this call. Throws Error for a group that cannot share
  // it (MeshLayout::can_share).
  Mesh(const MeshConfig& mesh, ProcessGroup* group);
  // As seen by the first of mesh.processes, without the others (MeshAxis::of_first_process).
  static Mesh of_first_process(const MeshConfig& mesh);

  // In the order of mesh.mesh_axis_names.
  const std::vector<std::string>& axis_names() const { return names_; }
  // One device for an axis that the mesh does not have. Valid as long as the mesh. [any-thread]
  const MeshAxis& axis(std::string_view name) const;

 private:
  MeshAxis* find(std::string_view name);

  std::vector<std::string> names_;
  std::vector<MeshAxis> axes_;
};

}  // namespace trivet
