// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/weight_share.h"

#include <algorithm>
#include <vector>

#include "layer/block_layout.h"
#include "layer/block_units.h"
#include "layer/weight_parts.h"
#include "trivet/backend/mesh.h"
#include "trivet/layer/parameter_store.h"

namespace trivet {

WeightShare weight_share(const ParameterStore& store, const MeshConfig& mesh) {
  std::vector<std::int64_t> ends;
  for (const auto& parameter : store.parameters()) {
    if (!parameter->trainable()) continue;
    ends.push_back(store.offset_of(*parameter) + detail::padded(parameter->shape().size()));
  }
  const detail::BlockUnits units(ends);
  const MeshShards whole(mesh, nullptr);
  const detail::UnitParts parts(units, whole);
  const std::int64_t devices = whole.pieces() / mesh.processes;
  WeightShare share{.all = units.size(),
                    .whole = detail::WeightParts::most_elements(units),
                    .units = static_cast<std::int64_t>(units.count())};
  for (std::size_t i = 0; i < units.count(); ++i) {
    share.own += parts.of_device(i, devices - 1).end - units[i].begin;
    share.largest = std::max(share.largest, units[i].size());
  }
  return share;
}

}  // namespace trivet
