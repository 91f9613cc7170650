// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/xlnet_sight.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/attention/positional_embedding.h"
#include "nn/basic/sequence_context.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

constexpr float kClassType = 2;

Tensor number(Device& device, float value) {
  return Tensor::from<float>(device, std::vector<float>{value}, {1});
}

Tensor at_least(const Tensor& x, float low) {
  return ops::max(x, number(x.device(), low));
}

// 0 for differences of integers up to 0, else 1.
Tensor is_positive(const Tensor& difference) {
  return ops::min(at_least(difference, 0), number(difference.device(), 1));
}

Tensor as_queries(const Tensor& numbers) {
  return ops::reshape(ops::cast(numbers, DType::f32), {numbers.dim(0), 1, numbers.dim(1), 1});
}

Tensor as_keys(const Tensor& numbers) {
  return ops::reshape(ops::cast(numbers, DType::f32), {numbers.dim(0), 1, 1, numbers.dim(1)});
}

Tensor inverse(const Tensor& shares) {
  return ops::add(ops::neg(shares), 1.0F);
}

// f32 [1, 1, T, T]: 1 for keys at distances `from` to `to` before the query.
Tensor band(Device& device, std::int64_t length, std::int64_t from, std::int64_t to) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t j = 0; j < length; ++j) {
      values.push_back(i - j >= from && i - j <= to ? 1.0F : 0.0F);
    }
  }
  return Tensor::from<float>(device, values, {1, 1, length, length});
}

// Undefined factors are 1.
Tensor product(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? ops::mul(a, b) : a;
}

Tensor twice(const Tensor& x) {
  const Tensor parts[] = {x, x};
  return x.defined() ? ops::concat(parts, 0) : x;
}

// 1 where integers [B, T] differ.
Tensor different(const Tensor& numbers) {
  return is_positive(ops::abs(ops::sub(as_queries(numbers), as_keys(numbers))));
}

Tensor known_by(const Tensor& permutation) {
  return is_positive(
      ops::sub(at_least(as_queries(permutation), 0), at_least(as_keys(permutation), -1)));
}

Tensor unlike(const Tensor& types, bool use_cls_mask) {
  Tensor apart = different(types);
  if (!use_cls_mask) return apart;
  const auto is_other = [](const Tensor& type) {
    return is_positive(ops::abs(ops::add(type, -kClassType)));
  };
  return ops::mul(apart, ops::mul(is_other(as_queries(types)), is_other(as_keys(types))));
}

Tensor sines(Device& device, std::int64_t length, std::int64_t dims, std::int64_t clamp_length) {
  std::vector<std::int32_t> distances;
  for (std::int64_t d = length - 1; d > -length; --d) {
    const std::int64_t clamped = clamp_length > 0 ? std::clamp(d, -clamp_length, clamp_length) : d;
    distances.push_back(static_cast<std::int32_t>(clamped));
  }
  // Angles are distance * 10000^(-2 i / dims): the slowest is the last of dims / 2.
  const auto n = static_cast<double>(dims) / 2;
  return sinusoids(Tensor::from<std::int32_t>(device, distances, {1, std::ssize(distances)}), dims,
                   1, std::pow(10000.0, (n - 1) / n));
}

}  // namespace

Tensor predicted_positions(const Tensor& permutation) {
  const NoGrad no_grad;
  const Tensor order = ops::cast(permutation, DType::f32);
  return ops::reshape(is_positive(ops::add(order, 2.0F)), {order.dim(0), order.dim(1), 1});
}

XlnetSight xlnet_sight(const Tensor& x, const TokenFields& fields, const XlnetSightRules& rules,
                       const FpropContext& context) {
  const NoGrad no_grad;
  Device& device = x.device();
  const std::int64_t rows = x.dim(0), length = x.dim(1);
  XlnetSight sight;
  sight.sines = sines(device, length, x.dim(2), rules.clamp_length);
  const Tensor segments =
      segments_of(fitting(context.segment_ids, x), fitting(context.paddings, x));
  if (segments.defined()) sight.seen = inverse(different(segments));
  if (rules.causal) {
    const Tensor earlier = ops::expand(band(device, length, 0, length), {rows, 1, length, length});
    sight.seen = product(sight.seen, earlier);
  }
  if (fields.token_types.defined()) sight.unlike = unlike(fields.token_types, rules.use_cls_mask);
  if (!fields.permutation.defined()) return sight;
  sight.streams = 2;
  const Tensor query = known_by(fields.permutation);
  const Tensor content = ops::max(query, band(device, length, 0, 0));
  const Tensor parts[] = {content, query};
  sight.seen = product(ops::concat(parts, 0), twice(sight.seen));
  sight.unlike = twice(sight.unlike);
  return sight;
}

}  // namespace trivet::nn
