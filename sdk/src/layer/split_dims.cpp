// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/split_dims.h"

#include <algorithm>
#include <array>
#include <utility>

#include "trivet/tensor/mesh.h"

namespace trivet {
namespace {

// Those of mesh.mesh_axis_names.
constexpr std::array<std::string_view, 6> kSplitAxes = {"replica",     "data",  "mdl",
                                                        "data_expert", "stage", "seq"};

bool is_axis_index(std::string_view axis) {
  return axis.find_first_not_of("0123456789") == std::string_view::npos;
}

// Reads the entries of one list.
class DimReader {
 public:
  DimReader(Diagnostics& diagnostics, SplitDims& out) : diagnostics_(diagnostics), out_(out) {}

  void read_dim(const Value& value, const std::string& path) {
    SplitDims::Dim& dim = out_.dims.emplace_back();
    if (value.is_integer() && value.as_integer() == -1) return;
    if (!value.is_array()) return read_axis(value, path, dim);
    std::size_t index = 0;
    for (const Value& axis : value.items()) read_axis(axis, joined_path(path, index++), dim);
  }

 private:
  void read_axis(const Value& value, const std::string& path, SplitDims::Dim& dim) {
    if (value.is_integer()) {
      const std::int64_t index = value.as_integer();
      if (index < 0 || index >= std::ssize(kSplitAxes)) {
        return add(value, path,
                   "is " + std::to_string(index) + ", and a mesh has the axes 0 to " +
                       std::to_string(kSplitAxes.size() - 1) + " at most",
                   "-1 is a whole dimension");
      }
      return take(value, path, std::to_string(index), dim);
    }
    if (!value.is_string()) {
      return add(value, path, "is no axis of a mesh",
                 "a name such as \"mdl\", an index into mesh.mesh_axis_names, -1 for a whole "
                 "dimension, or a list of names");
    }
    std::string name = value.as_string();
    if (name.ends_with('?')) {
      name.pop_back();
      dim.where_it_divides = true;
    }
    if (std::ranges::find(kSplitAxes, name) == kSplitAxes.end()) {
      std::string known;
      for (const std::string_view axis : kSplitAxes) {
        known += (known.empty() ? "" : ", ") + std::string(axis);
      }
      return add(value, path, "there is no axis '" + name + "'", "known are " + known);
    }
    take(value, path, std::move(name), dim);
  }

  void take(const Value& value, const std::string& path, std::string axis, SplitDims::Dim& dim) {
    if (std::ranges::find(taken_, axis) != taken_.end()) {
      return add(value, path, "names the axis '" + axis + "' twice",
                 "each axis splits one dimension");
    }
    taken_.push_back(axis);
    dim.axes.push_back(std::move(axis));
  }

  void add(const Value& at, const std::string& path, std::string what, std::string hint) {
    diagnostics_.add({at.origin(), path, std::move(what), std::move(hint)});
  }

  Diagnostics& diagnostics_;
  SplitDims& out_;
  std::vector<std::string> taken_;
};

Value axis_value(const std::string& axis, bool where_it_divides) {
  if (is_axis_index(axis)) return static_cast<std::int64_t>(std::stoi(axis));
  return where_it_divides ? axis + "?" : axis;
}

}  // namespace

void SplitDims::check_rank(std::size_t rank, std::string_view field,
                           Diagnostics& diagnostics) const {
  if (empty() || dims.size() == rank) return;
  diagnostics.add(
      field,
      "has " + std::to_string(dims.size()) + " entries for " + std::to_string(rank) + " dimensions",
      "one for each dimension, -1 where nothing is split");
}

std::optional<std::size_t> SplitDims::dim_over(std::string_view axis, const Mesh& mesh,
                                               const std::string& path) const {
  const std::vector<std::string>& names = mesh.axis_names();
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    for (const std::string& each : dims[i].axes) {
      const std::size_t index = is_axis_index(each) ? static_cast<std::size_t>(std::stoi(each)) : 0;
      if (is_axis_index(each) && index >= names.size()) {
        throw ConfigError(Diagnostic{.path = path,
                                     .what = "has the index " + each + ", and the mesh has " +
                                             std::to_string(names.size()) + " axes",
                                     .hint = "an index counts mesh.mesh_axis_names from 0"});
      }
      if ((is_axis_index(each) ? names[index] : each) != axis) continue;
      if (found) {
        throw ConfigError(Diagnostic{.path = path,
                                     .what = "names the axis '" + std::string(axis) + "' twice",
                                     .hint = "each axis splits one dimension"});
      }
      found = i;
    }
  }
  return found;
}

void detail::FieldTraits<SplitDims>::read(const Value& value, const FieldType&,
                                          const std::string& path, Diagnostics& diagnostics,
                                          SplitDims& out) {
  out = {};
  DimReader reader(diagnostics, out);
  std::size_t index = 0;
  for (const Value& dim : value.items()) reader.read_dim(dim, joined_path(path, index++));
}

Value detail::FieldTraits<SplitDims>::write(const SplitDims& value, const SplitDims*) {
  Value list = Value::array();
  for (const SplitDims::Dim& dim : value.dims) {
    if (dim.axes.size() < 2) {
      list.push_back(dim.axes.empty() ? Value(std::int64_t{-1})
                                      : axis_value(dim.axes.front(), dim.where_it_divides));
      continue;
    }
    Value several = Value::array();
    for (const std::string& axis : dim.axes) {
      several.push_back(axis_value(axis, dim.where_it_divides));
    }
    list.push_back(std::move(several));
  }
  return list;
}

}  // namespace trivet
