// SPDX-License-Identifier: Apache-2.0
// Attention composed: the scores of all pairs exist at once, [B, H, Tq, Tkv].
#include "ops/compose_attention.h"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "ops/op_support.h"
#include "trivet/ops/remat_keeps.h"

namespace trivet::compose {
namespace {

// Positions 0, 1, .. as f32, which holds them exactly up to 2^24.
Tensor positions_of(Device& device, std::int64_t n, std::int64_t first) {
  return ops::add(ops::cast(device.impl().iota(n), DType::f32), static_cast<float>(first));
}

Tensor both(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return ops::mul(a, b);
}

// 1 where a query sees a key, else 0, as f32 that broadcasts to [B, H, Tq, Tkv]; undefined when
// every query sees every key.
Tensor sight(Device& device, std::int64_t queries, std::int64_t keys,
             const ops::AttentionOptions& options) {
  Tensor seen;
  const Tensor i = ops::reshape(positions_of(device, queries, options.q_offset), {queries, 1});
  const Tensor j = ops::reshape(positions_of(device, keys, 0), {1, keys});
  if (options.causal) seen = ops::cast(ops::less(j, ops::add(i, 1)), DType::f32);
  if (options.causal && options.kv_prefix.defined()) {
    seen = ops::max(seen, ops::reshape(options.kv_prefix, {options.kv_prefix.dim(0), 1, 1, keys}));
  }
  if (options.window > 0) {
    const Tensor first = ops::add(i, static_cast<float>(-options.window));
    seen = both(seen, ops::cast(ops::less(first, j), DType::f32));
  }
  if (!options.q_segments.defined()) return seen;
  const std::int64_t batch = options.q_segments.dim(0);
  const Tensor same = ops::equal(ops::reshape(options.q_segments, {batch, 1, queries, 1}),
                                 ops::reshape(options.kv_segments, {batch, 1, 1, keys}));
  return both(seen, ops::cast(same, DType::f32));
}

// Softmax over the last axis that gives zeros where nothing is seen.
Tensor masked_softmax(const Tensor& scores, const Tensor& seen, std::optional<float> extra_logit) {
  Device& device = scores.device();
  Tensor hidden = scores, top;
  if (seen.defined()) {
    const Tensor visible = ops::less(device.impl().constant(0.5F), seen);
    const float lowest = -std::numeric_limits<float>::infinity();
    hidden = ops::where(visible, scores, device.impl().constant(lowest));
  }
  {
    NoGrad no_grad;
    // Finite also for a row without any visible key, whose exponentials are then all zero.
    const float least = extra_logit.value_or(-1e30F);
    top = ops::max(ops::max(hidden, -1, {.keep_dims = true}), device.impl().constant(least));
  }
  const Tensor weights = ops::exp(ops::sub(hidden, top));
  Tensor total = ops::sum(weights, -1, {.keep_dims = true});
  if (extra_logit) {
    total = ops::add(total, ops::exp(ops::sub(device.impl().constant(*extra_logit), top)));
    return ops::div(weights, total);
  }
  if (!seen.defined()) return ops::div(weights, total);
  Tensor none;
  {
    NoGrad no_grad;
    none = ops::equal(total, device.impl().constant(0));
  }
  return ops::div(weights, ops::where(none, device.impl().constant(1), total));
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const ops::AttentionOptions& options) {
  Device& device = q.device();
  const FlopCount flops = device.flop_count();
  const std::int64_t batch = q.dim(0), queries = q.dim(1), heads = q.dim(2), depth = q.dim(3);
  const std::int64_t keys = k.dim(1), groups = k.dim(2);
  Tensor seen;
  {
    NoGrad no_grad;
    seen = sight(device, queries, keys, options);
  }
  // Query heads that share a key head stand below each other, so that one product serves them.
  const Shape grouped{batch, groups, heads / groups * queries, depth};
  const Tensor by_head = ops::reshape(ops::transpose(q, {0, 2, 1, 3}), grouped);
  Tensor products;
  {
    const CheckpointName name("logits");
    products = ops::matmul(by_head, ops::transpose(k, {0, 2, 1, 3}), {.transpose_b = true});
  }
  Tensor scores = ops::mul(ops::reshape(products, {batch, heads, queries, keys}), options.scale);
  if (options.bias.defined()) scores = ops::add(scores, options.bias);
  if (options.softcap > 0) {
    scores = ops::mul(ops::tanh(ops::mul(scores, 1 / options.softcap)), options.softcap);
  }
  const Tensor kept = ops::dropout(masked_softmax(scores, seen, options.extra_logit),
                                   options.dropout, options.dropout_key);
  const Tensor weights = ops::reshape(kept, {batch, groups, heads / groups * queries, keys});
  const CheckpointName name("context");
  const Tensor mixed = ops::matmul(weights, ops::transpose(v, {0, 2, 1, 3}));
  device.set_flop_count(flops);  // the products above are the caller's to count
  return ops::contiguous(
      ops::transpose(ops::reshape(mixed, {batch, heads, queries, depth}), {0, 2, 1, 3}));
}

Tensor rope(const Tensor& x, const Tensor& positions, float theta, std::int64_t rotary,
            float sign) {
  Device& device = x.device();
  const std::int64_t half = rotary / 2;
  std::vector<float> speeds(static_cast<std::size_t>(half));
  for (std::int64_t i = 0; i < half; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rotary);
    speeds[static_cast<std::size_t>(i)] =
        static_cast<float>(std::pow(static_cast<double>(theta), exponent));
  }
  const Tensor speed = Tensor::from<float>(device, speeds, {half});
  const Tensor at = ops::reshape(ops::cast(positions, DType::f32), {x.dim(0), x.dim(1), 1, 1});
  const Tensor angle = ops::mul(at, speed);  // [B, T, 1, half]
  const Tensor c = ops::cos(angle), s = ops::mul(ops::sin(angle), sign);
  const Tensor a = ops::slice(x, 3, 0, half), b = ops::slice(x, 3, half, rotary);
  std::vector<Tensor> parts{ops::sub(ops::mul(a, c), ops::mul(b, s)),
                            ops::add(ops::mul(b, c), ops::mul(a, s))};
  if (rotary < x.dim(3)) parts.push_back(ops::slice(x, 3, rotary, x.dim(3)));
  return ops::concat(parts, 3);
}

}  // namespace trivet::compose
