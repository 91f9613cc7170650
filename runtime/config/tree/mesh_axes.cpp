// SPDX-License-Identifier: Apache-2.0
#include "config/tree/mesh_axes.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "trivet/backend/mesh.h"

namespace trivet {
namespace {

// FieldTraits<SplitDims> writes it into the schemas.
bool is_split_dims(const SchemaNode& node) {
  return node.type != nullptr && node.type->form == FieldType::Form::list &&
         !node.type->element.empty() && node.type->element[0].kind == "mesh_axis";
}

class AxesChecker {
 public:
  AxesChecker(const TypedTree& tree, const MeshConfig& mesh, Diagnostics& diagnostics)
      : tree_(tree), mesh_(mesh), diagnostics_(diagnostics) {}

  void visit(const Value& value, const SchemaNode& node, const std::string& path) {
    if (is_split_dims(node)) {
      const bool is_default = node.default_value != nullptr && value == *node.default_value;
      if (!is_default) visit_axes(value, path);
      return;
    }
    if (value.is_array()) {
      std::size_t index = 0;
      for (const Value& item : value.items()) {
        visit(item, tree_.element(node), joined_path(path, index++));
      }
    }
    if (!value.is_table()) return;
    for (const Value::Member& member : value.members()) {
      visit(member.value, tree_.child(value, node, member.key), joined_path(path, member.key));
    }
  }

 private:
  void visit_axes(const Value& value, const std::string& path) {
    if (value.is_array()) {
      std::size_t index = 0;
      for (const Value& item : value.items()) visit_axes(item, joined_path(path, index++));
    } else if (value.is_string()) {
      std::string name = value.as_string();
      if (name.ends_with('?')) name.pop_back();
      if (!has(name)) refuse(value, path, fmt::format("names the axis '{}'", name));
    } else if (value.is_integer()) {
      const std::int64_t index = value.as_integer();
      if (index >= std::ssize(mesh_.mesh_axis_names)) {
        refuse(value, path, fmt::format("is the index {} of an axis", index));
      }
    }
  }

  bool has(const std::string& name) const {
    return std::ranges::find(mesh_.mesh_axis_names, name) != mesh_.mesh_axis_names.end();
  }

  void refuse(const Value& value, const std::string& path, const std::string& what) {
    // One that no mesh has was refused where its text was read.
    if (std::ranges::find(diagnostics_.list(), path, &Diagnostic::path) !=
        diagnostics_.list().end()) {
      return;
    }
    diagnostics_.add({value.origin(), path,
                      fmt::format("{} that the mesh lacks; it has {}", what,
                                  fmt::join(mesh_.mesh_axis_names, ", ")),
                      "name one of these, -1 for a whole dimension, or add the axis to "
                      "mesh.mesh_axis_names and to the mesh's shape"});
  }

  const TypedTree& tree_;
  const MeshConfig& mesh_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_mesh_axes(const Value& root, const TypedTree& tree, const MeshConfig& mesh,
                     Diagnostics& diagnostics) {
  if (mesh.devices() > 1) AxesChecker(tree, mesh, diagnostics).visit(root, tree.root(), {});
}

}  // namespace trivet
