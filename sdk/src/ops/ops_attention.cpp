// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention: the backend's kernels where it has them, products and a masked
// softmax otherwise (compose_attention.cpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/compose_attention.h"
#include "ops/op_support.h"
#include "ops/saved_activations.h"

namespace trivet {
namespace {

// Arguments that no kernel supports.
bool only_composed(const ops::AttentionOptions& o) {
  return o.bias.defined() || o.kv_prefix.defined() || o.extra_logit || o.dropout > 0;
}

// The fields of tv_attention that are not arrays. The segment ids are among the saved tensors.
struct Scores {
  float scale, softcap;
  bool causal;
  std::int64_t window, q_offset;
};

ops::AttentionOptions options_of(const Scores& s, const Tensor& q_segments,
                                 const Tensor& kv_segments) {
  return {.scale = s.scale,
          .causal = s.causal,
          .window = s.window,
          .softcap = s.softcap,
          .q_offset = s.q_offset,
          .q_segments = q_segments,
          .kv_segments = kv_segments};
}

tv_attention arguments(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                       const Tensor& lse, const ops::AttentionOptions& options) {
  tv_attention args{};
  args.struct_size = sizeof args;
  args.q = q.view();
  args.k = k.view();
  args.v = v.view();
  args.out = out.view();
  args.q_segments = static_cast<const std::int32_t*>(detail::memory_or_null(options.q_segments));
  args.kv_segments = static_cast<const std::int32_t*>(detail::memory_or_null(options.kv_segments));
  args.lse = static_cast<float*>(detail::memory(lse));
  args.scale = options.scale;
  args.softcap = options.softcap;
  args.causal = options.causal;
  // A window beyond all positions is none.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  args.window = static_cast<std::int32_t>(std::min(options.window, kMost));
  args.q_offset = options.q_offset;
  return args;
}

// Saved: q, k, v, out, lse, q_segments, kv_segments.
void attention_vjp(Vjp& v) {
  const Tensor &q = v.saved(0), &k = v.saved(1), &value = v.saved(2);
  const ops::AttentionOptions options = options_of(v.attributes<Scores>(), v.saved(5), v.saved(6));
  Device& device = q.device();
  const Tensor& dout = v.grad_output();
  const Tensor dq = Tensor::empty(device, q.shape()), dk = Tensor::empty(device, k.shape()),
               dv = Tensor::empty(device, value.shape());
  tv_attention_grad args{};
  args.struct_size = sizeof args;
  args.fwd = arguments(q, k, value, v.saved(3), v.saved(4), options);
  args.dout = dout.view();
  args.dq = dq.view();
  args.dk = dk.view();
  args.dv = dv.view();
  if (device.try_kernel("attention_bwd", &tv_backend::attention_bwd, &args)) {
    v.add(0, dq);
    v.add(1, dk);
    v.add(2, dv);
    return;
  }
  const Tensor inputs[] = {q, k, value};
  detail::gradient_by_composition(v, inputs, [&](std::span<const Tensor> in) {
    return compose::attention(in[0], in[1], in[2], options);
  });
}
constexpr OpDef kAttention{"attention", attention_vjp};

void check(const Tensor& q, const Tensor& k, const Tensor& v, const ops::AttentionOptions& o) {
  detail::expect("attention", "q", q);
  detail::expect_beside("attention", "k", k, q);
  detail::expect_beside("attention", "v", v, q);
  const bool fits = q.rank() == 4 && k.rank() == 4 && k.shape() == v.shape() &&
                    q.dim(0) == k.dim(0) && q.dim(3) == k.dim(3) && k.dim(2) > 0 &&
                    q.dim(2) % k.dim(2) == 0;
  if (!fits) {
    detail::wrong("attention", "q [B, Tq, H, D], k and v [B, Tkv, Hkv, D], H a multiple of Hkv",
                  detail::shapes({&q, &k, &v}));
  }
  if (o.window < 0 || o.softcap < 0) {
    detail::wrong("attention", "window >= 0 and softcap >= 0",
                  std::to_string(o.window) + " and " + std::to_string(o.softcap));
  }
  if (o.bias.defined()) {
    detail::expect_beside("attention", "bias", o.bias, q);
    const Shape full{q.dim(0), q.dim(2), q.dim(1), k.dim(1)};
    bool broadcasts = o.bias.rank() == 4 && o.bias.dim(3) == full[3];
    for (int axis = 0; broadcasts && axis < 3; ++axis) {
      broadcasts = o.bias.dim(axis) == 1 || o.bias.dim(axis) == full[axis];
    }
    if (!broadcasts) {
      detail::wrong("attention", "a bias for " + full.to_string(), o.bias.to_string());
    }
  }
  if (o.kv_prefix.defined()) detail::expect_beside("attention", "kv_prefix", o.kv_prefix, q);
  if (o.kv_prefix.defined() && o.kv_prefix.shape() != Shape{k.dim(0), k.dim(1)}) {
    detail::wrong("attention", "kv_prefix [B, Tkv]", detail::shapes({&o.kv_prefix, &k}));
  }
  if (!o.q_segments.defined() && !o.kv_segments.defined()) return;
  detail::expect_beside("attention", "q_segments", o.q_segments, q, DType::i32);
  detail::expect_beside("attention", "kv_segments", o.kv_segments, q, DType::i32);
  const bool segments = o.q_segments.shape() == Shape{q.dim(0), q.dim(1)} &&
                        o.kv_segments.shape() == Shape{k.dim(0), k.dim(1)};
  if (!segments) {
    detail::wrong("attention", "segment ids i32 [B, Tq] and [B, Tkv], both or neither",
                  detail::shapes({&o.q_segments, &o.kv_segments}));
  }
}

// The pairs of query and key that see each other, segments aside.
double visible_pairs(std::int64_t queries, std::int64_t keys, const ops::AttentionOptions& o) {
  if (!o.causal && o.window == 0) return static_cast<double>(queries) * static_cast<double>(keys);
  double pairs = 0;
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t at = i + o.q_offset;
    const std::int64_t last = o.causal ? std::min(keys - 1, at) : keys - 1;
    const std::int64_t first = o.window > 0 ? std::max<std::int64_t>(0, at - o.window + 1) : 0;
    pairs += static_cast<double>(std::max<std::int64_t>(0, last - first + 1));
  }
  return pairs;
}

// A view the kernels take: strided in all but the last axis.
Tensor rows_packed(const Tensor& x) {
  return x.dim(-1) == 1 || x.impl()->strides[3] == 1 ? x : ops::contiguous(x);
}

}  // namespace

Tensor ops::attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const AttentionOptions& given) {
  check(query, key, value, given);
  AttentionOptions options = given;
  if (options.scale == 0) options.scale = 1 / std::sqrt(static_cast<float>(query.dim(3)));
  if (options.q_segments.defined()) {
    options.q_segments = contiguous(options.q_segments);
    options.kv_segments = contiguous(options.kv_segments);
  }
  const Tensor q = rows_packed(query), k = rows_packed(key), v = rows_packed(value);
  Device& device = q.device();
  const bool records = detail::recording_any({&q, &k, &v});
  // Model FLOPs: two products forward, four backward; a recomputed score is not counted.
  const double of_a_pair =
      (records ? 12.0 : 4.0) * static_cast<double>(q.dim(0) * q.dim(2) * q.dim(3));
  device.count_attention_flops(
      of_a_pair * visible_pairs(q.dim(1), k.dim(1), options),
      of_a_pair * static_cast<double>(q.dim(1)) * static_cast<double>(k.dim(1)));
  if (only_composed(options)) return compose::attention(q, k, v, options);
  const CheckpointName name("context");
  const detail::KeptOp op{"attention", detail::KeptOp::Kind::other_product,
                          detail::on_tape(records)};
  const auto compute = [&]() -> std::vector<Tensor> {
    const Tensor out = Tensor::empty(device, q.shape());
    const Tensor lse = Tensor::empty(device, {q.dim(0), q.dim(2), q.dim(1)});
    const tv_attention args = arguments(q, k, v, out, lse, options);
    if (!device.try_kernel("attention_fwd", &tv_backend::attention_fwd, &args)) return {};
    return {out, lse};
  };
  const std::vector<Tensor> results = detail::SavingActivations::kept(op, compute);
  if (results.empty()) return compose::attention(q, k, v, options);
  Tensor out = results[0];
  const Tensor& lse = results[1];
  record(kAttention, {q, k, v}, out, {q, k, v, out, lse, options.q_segments, options.kv_segments},
         Scores{options.scale, options.softcap, options.causal, options.window, options.q_offset});
  return out;
}

}  // namespace trivet
