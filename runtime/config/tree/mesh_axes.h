// SPDX-License-Identifier: Apache-2.0
// Whether the mesh of a config has the axes that its fields of type SplitDims name.
#pragma once

#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

struct MeshConfig;  // trivet/backend/mesh.h

// Adds an error for each axis that the mesh lacks. Skips lists equal to the default of their field,
// which is written for any mesh, and all lists on a mesh of one device, where nothing is split.
void check_mesh_axes(const Value& root, const TypedTree& tree, const MeshConfig& mesh,
                     Diagnostics& diagnostics);

}  // namespace trivet
