// SPDX-License-Identifier: Apache-2.0
#include "nn/split/axis_split.h"

#include <algorithm>
#include <array>
#include <string>

#include "trivet/error.h"
#include "trivet/tensor/mesh.h"

namespace trivet::nn {
namespace {

constexpr std::string_view kSplitAxis = "mdl";
constexpr const char* kModelPath = "task.model";

}  // namespace

void refuse_split(const MeshAxis& axis, std::string_view what, const Scope& scope,
                  std::string_view field) {
  refuse_mapping(
      "splits " + std::string(what) + " over the " + std::to_string(axis.extent()) +
          " devices along mdl, which do not divide it",
      "change one of the two numbers; \"mdl?\" in the mapping leaves whole what does not "
      "divide",
      scope, field);
}

void refuse_mapping(std::string_view what, std::string_view hint, const Scope& scope,
                    std::string_view field) {
  throw ConfigError(
      Diagnostic{.path = kModelPath,
                 .what = "'" + scope.path() + "': " + std::string(field) + " " + std::string(what),
                 .hint = std::string(hint)});
}

const MeshAxis& axis_of(const Parameter& weights, const Scope& scope) {
  static const MeshAxis kOneDevice;
  return weights.blocks() > 1 ? scope.mesh().axis(kSplitAxis) : kOneDevice;
}

bool splits_rows_over_batch(const SplitDims& dims, const Scope& scope) {
  constexpr std::array<std::string_view, 3> kBatchAxes = {"replica", "data", "data_expert"};
  return !dims.empty() && std::ranges::any_of(kBatchAxes, [&](std::string_view axis) {
    return dims.dim_over(axis, scope.mesh(), kModelPath) == std::size_t{0};
  });
}

AxisSplit split_of(const SplitDims& dims, const Shape& weights, const Scope& scope,
                   std::string_view field) {
  const MeshAxis& axis = scope.mesh().axis(kSplitAxis);
  if (!axis.is_split() || dims.empty()) return {};
  const std::optional<std::size_t> dim = dims.dim_over(kSplitAxis, scope.mesh(), kModelPath);
  if (!dim) return {};
  const std::int64_t extent = weights[static_cast<int>(*dim)];
  if (extent % axis.extent() == 0) return {axis, dim};
  if (dims.dims[*dim].where_it_divides) return {};
  refuse_split(axis, "dimension " + std::to_string(*dim) + " of " + weights.to_string(), scope,
               field);
}

RngKey block_key(RngKey key, std::int64_t block) {
  return key.fold(kSplitAxis).fold(static_cast<std::uint64_t>(block));
}

}  // namespace trivet::nn
