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

struct MeshConfig;  // trivet/backend/mesh.h

class TRIVET_API Mesh {
 public:
  // One device, with the axes of a MeshConfig that sets none.
  Mesh();
  // The config must be valid (MeshConfig::validate).
  explicit Mesh(const MeshConfig& mesh);

  // In the order of mesh.mesh_axis_names.
  const std::vector<std::string>& axis_names() const { return names_; }
  // One device for an axis that the mesh does not have. Valid as long as the mesh. [any-thread]
  const MeshAxis& axis(std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::vector<MeshAxis> axes_;
};

}  // namespace trivet
