// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/relative_bias.h"

#include <algorithm>
#include <cmath>

#include "nn/basic/checks.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

std::int32_t bucket_of(std::int64_t distance, const RelativeBiasConfig& config) {
  std::int64_t buckets = config.relative_attention_num_buckets, offset = 0;
  std::int64_t n = -distance;  // query - key
  if (config.bidirectional) {
    buckets /= 2;
    offset = n < 0 ? buckets : 0;
    n = std::abs(n);
  }
  n = std::max<std::int64_t>(n, 0);
  const std::int64_t exact = buckets / 2;
  if (n < exact) return static_cast<std::int32_t>(offset + n);
  const auto m = static_cast<double>(exact);
  const double share = std::log(static_cast<double>(n) / m) /
                       std::log(static_cast<double>(config.relative_attention_max_distance) / m);
  const auto further = static_cast<std::int64_t>(share * static_cast<double>(buckets - exact));
  return static_cast<std::int32_t>(offset + std::min(buckets - 1, exact + further));
}

std::vector<std::int32_t> all_buckets(const RelativeBiasConfig& config) {
  std::vector<std::int32_t> buckets;
  const std::int64_t far = config.relative_attention_max_distance;
  for (std::int64_t distance = -far; distance <= far; ++distance) {
    buckets.push_back(bucket_of(distance, config));
  }
  return buckets;
}

}  // namespace

void RelativeBiasConfig::validate(Diagnostics& diagnostics) const {
  const std::int64_t buckets = relative_attention_num_buckets / (bidirectional ? 2 : 1);
  if (bidirectional && relative_attention_num_buckets % 2 != 0) {
    diagnostics.add("relative_attention_num_buckets", "must be even for two directions");
  }
  if (buckets < 2) {
    diagnostics.add("relative_attention_num_buckets", "must be at least 4 for two directions");
  } else if (relative_attention_max_distance <= buckets / 2) {
    diagnostics.add("relative_attention_max_distance", "must be more than the " +
                                                           std::to_string(buckets / 2) +
                                                           " distances that have their own bucket");
  }
}

RelativeBias::RelativeBias(const Config& config, Scope& scope)
    : path_(scope.path()),
      device_(scope.device()),
      max_distance_(config.relative_attention_max_distance),
      buckets_(all_buckets(config)),
      table_(scope.parameter("table",
                             {config.relative_attention_num_buckets,
                              expect_set("nn/RelativeBias", path_, "num_heads", config.num_heads)},
                             {.init = config.init})) {}

Tensor RelativeBias::fprop(const Tensor& distances, FpropContext&) {
  if (distances.dtype() != DType::i32 || distances.rank() != 3) {
    wrong_input("nn/RelativeBias", path_, "distances i32 [B, Tq, Tkv]", distances);
  }
  Tensor rows, buckets;
  {
    NoGrad no_grad;
    const auto far = static_cast<float>(max_distance_);
    const Tensor near =
        ops::max(ops::min(ops::cast(distances, DType::f32), Tensor::scalar(device_, far)),
                 Tensor::scalar(device_, -far));
    rows = ops::cast(ops::add(near, far), DType::i32);
    buckets =
        Tensor::from<std::int32_t>(device_, buckets_, {static_cast<std::int64_t>(buckets_.size())});
  }
  // First one row per distance: there are fewer distances than pairs of positions.
  const Tensor by_distance = ops::gather_rows(table_.value(), buckets);
  return ops::contiguous(ops::transpose(ops::gather_rows(by_distance, rows), {0, 3, 1, 2}));
}

}  // namespace trivet::nn
