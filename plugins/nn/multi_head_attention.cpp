// SPDX-License-Identifier: Apache-2.0
#include "multi_head_attention.h"

#include "checks.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

// The context's i32 [B, T] tensor, if it is made for x [B, T, ..].
bool fits(const Tensor& places, const Tensor& x) {
  return places.defined() && places.rank() == 2 && places.dim(0) == x.dim(0) &&
         places.dim(1) == x.dim(1);
}

// Segment ids i32 [B, T] with -1 for padding; undefined where every place sees every other.
Tensor segments_of(const Tensor& x, const FpropContext& context) {
  const bool segmented = fits(context.segment_ids, x), padded = fits(context.paddings, x);
  if (!padded) return segmented ? context.segment_ids : Tensor();
  NoGrad no_grad;
  const Tensor counted = ops::add(ops::neg(context.paddings), 1);
  // (id + 1) * counted - 1; ids are exact in f32 up to 2^24.
  const Tensor ids = segmented ? ops::add(ops::cast(context.segment_ids, DType::f32), 1) : counted;
  return ops::cast(ops::add(ops::mul(ids, counted), -1), DType::i32);
}

}  // namespace

void MultiHeadAttentionConfig::validate(Problems& problems) const {
  if (dims_per_head == 0 && num_heads > 0 && input_dims % num_heads != 0) {
    problems.add("num_heads",
                 "is " + std::to_string(num_heads) +
                     ", which does not divide input_dims = " + std::to_string(input_dims),
                 "use a divisor of input_dims");
  }
  if (num_kv_heads > 0 && num_heads % num_kv_heads != 0) {
    problems.add("num_kv_heads",
                 "is " + std::to_string(num_kv_heads) +
                     ", which does not divide num_heads = " + std::to_string(num_heads));
  }
}

MultiHeadAttention::MultiHeadAttention(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(config.input_dims),
      heads_(config.num_heads),
      kv_heads_(config.num_kv_heads > 0 ? config.num_kv_heads : config.num_heads),
      head_dims_(config.dims_per_head > 0 ? config.dims_per_head
                                          : config.input_dims / config.num_heads),
      causal_(config.causal) {
  const auto linear = [&](const char* name, std::int64_t in, std::int64_t out) {
    return scope.layer(name, {"nn/Linear", Value::table({{"input_dims", in},
                                                         {"output_dims", out},
                                                         {"has_bias", config.has_bias},
                                                         {"init", encode(config.init)}})});
  };
  query_ = linear("query", input_dims_, heads_ * head_dims_);
  key_ = linear("key", input_dims_, kv_heads_ * head_dims_);
  value_ = linear("value", input_dims_, kv_heads_ * head_dims_);
  output_ = linear("output", heads_ * head_dims_, input_dims_);
}

Tensor MultiHeadAttention::fprop(const Tensor& x, FpropContext& context) {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input("nn/MultiHeadAttention", path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  const std::int64_t batch = x.dim(0), length = x.dim(1);
  const auto by_head = [&](const std::shared_ptr<Layer>& layer, std::int64_t heads) {
    return ops::reshape(layer->fprop(x, context), {batch, length, heads, head_dims_});
  };
  const Tensor segments = segments_of(x, context);
  const Tensor mixed =
      ops::attention(by_head(query_, heads_), by_head(key_, kv_heads_), by_head(value_, kv_heads_),
                     {.causal = causal_, .q_segments = segments, .kv_segments = segments});
  return output_->fprop(ops::reshape(mixed, {batch, length, heads_ * head_dims_}), context);
}

}  // namespace trivet::nn
