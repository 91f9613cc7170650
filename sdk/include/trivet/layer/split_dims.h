// SPDX-License-Identifier: Apache-2.0
// SplitDims: the axes of a mesh over which each dimension of a tensor is split, as Praxis'
// split_dims_mapping has them. A config field of this type is a list in TOML, one entry for each
// dimension:
//
//   -1                      whole
//   "mdl"                   split over this axis; an error where it does not divide the dimension
//   "mdl?"                  split over it where it divides the dimension, else whole
//   ["replica", "data"]     split over several axes
//   2                       an index into mesh.mesh_axis_names
//
// An empty list says nothing: all is whole. A config whose list names an axis that its mesh lacks
// is refused when it is resolved; the default of a field may name any axis.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config/detail/field_containers.h"

namespace trivet {

class Mesh;  // trivet/tensor/mesh.h

struct SplitDims {
  struct Dim {
    std::vector<std::string> axes{};  // names, or the digits of an index; none: whole
    bool where_it_divides = false;    // "mdl?"
    friend constexpr bool operator==(const Dim&, const Dim&) = default;
  };
  std::vector<Dim> dims{};

  constexpr SplitDims() = default;
  // One name for each dimension, such as "data" or "mdl?"; "" for one that is whole.
  constexpr SplitDims(std::initializer_list<std::string_view> names) {
    for (std::string_view name : names) {
      Dim& dim = dims.emplace_back();
      dim.where_it_divides = name.ends_with('?');
      if (dim.where_it_divides) name.remove_suffix(1);
      if (!name.empty()) dim.axes.emplace_back(name);
    }
  }

  constexpr bool empty() const { return dims.empty(); }
  // Adds a problem of `field` unless the list is empty or has an entry for each of `rank`
  // dimensions.
  TRIVET_API void check_rank(std::size_t rank, std::string_view field,
                             Diagnostics& diagnostics) const;
  // The dimension that is split over this axis of the mesh; none if no dimension is. Throws
  // ConfigError at `path` for an index that the mesh does not have, and for an axis that is named
  // twice.
  TRIVET_API std::optional<std::size_t> dim_over(std::string_view axis, const Mesh& mesh,
                                                 const std::string& path) const;

  friend constexpr bool operator==(const SplitDims&, const SplitDims&) = default;
};

namespace detail {

template <>
struct FieldTraits<SplitDims> {
  template <class Sink>
  static constexpr void write_dim(Sink& out, const SplitDims::Dim& dim, std::string_view axis) {
    if (axis.find_first_not_of("0123456789") == std::string_view::npos) return out.raw(axis);
    out.put('"');
    out.raw(axis);
    out.raw(dim.where_it_divides ? "?\"" : "\"");
  }
  template <class Sink>
  static constexpr void write_json(Sink& out, const SplitDims& value) {
    out.put('[');
    for (std::size_t i = 0; i < value.dims.size(); ++i) {
      const SplitDims::Dim& dim = value.dims[i];
      if (i > 0) out.put(',');
      if (dim.axes.empty()) out.raw("-1");
      if (dim.axes.size() > 1) out.put('[');
      for (std::size_t axis = 0; axis < dim.axes.size(); ++axis) {
        if (axis > 0) out.put(',');
        write_dim(out, dim, dim.axes[axis]);
      }
      if (dim.axes.size() > 1) out.put(']');
    }
    out.put(']');
  }
  template <class Sink>
  static constexpr void write_type(Sink& out) {
    out.raw("\"type\":\"list\",\"element\":{\"type\":\"value\",\"kind\":\"mesh_axis\"}");
  }
  static TRIVET_API void read(const Value& value, const FieldType& type, const std::string& path,
                              Diagnostics& diagnostics, SplitDims& out);
  static TRIVET_API Value write(const SplitDims& value, const SplitDims* fallback);
  static bool same(const SplitDims& a, const SplitDims& b) { return a == b; }
  static void complete(FieldType&, Place) {}
};

}  // namespace detail

}  // namespace trivet
