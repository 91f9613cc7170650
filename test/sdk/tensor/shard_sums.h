// SPDX-License-Identifier: Apache-2.0
// Sums of the shards of a mesh, whose bits tell the order of their additions.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "trivet/tensor.h"
#include "trivet/tensor/canonical_sum.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet::test {

// Values of all sizes, so that each order of a sum has other bits.
inline std::vector<float> values_of_shard(std::int64_t shard, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto wave = static_cast<float>(std::sin(static_cast<double>(i * 31 + shard * 7 + 1)));
    values.push_back(std::ldexp(wave, static_cast<int>((i + shard) % 40)));
  }
  return values;
}

// The sum of the shards of this process.
inline Tensor sum_of_own(Device& device, const MeshShards& shards, std::int64_t length) {
  CanonicalSum sum(device, {length}, shards.own_tree());
  for (std::int64_t i = 0; i < shards.count(); ++i) {
    const std::vector<float> values = values_of_shard(shards.first() + i, length);
    sum.next().assign_bytes(std::as_bytes(std::span(values)));
    sum.add();
  }
  return sum.total();
}

}  // namespace trivet::test
