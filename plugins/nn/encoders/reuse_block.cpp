// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/reuse_block.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/attention/feed_forward.h"
#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"
#include "nn/basic/templates.h"
#include "nn/remat/checkpoint_policy.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

constexpr const char* kReuseBlock = "nn/ReuseBlock";
constexpr bool kBias = true;
constexpr std::int64_t kPositions = 512;
constexpr double kPositionDeviation = 0.2;
constexpr float kUnseen = -1e30F;

// [B, T, heads * D] -> [B, heads, T, D].
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  const Shape shape{x.dim(0), x.dim(1), heads, x.dim(2) / heads};
  return ops::contiguous(ops::transpose(ops::reshape(x, shape), {0, 2, 1, 3}));
}

// [B, 1, T, T]: 0 where positions are of one segment.
Tensor unseen(const Tensor& segments) {
  const NoGrad no_grad;
  const std::int64_t rows = segments.dim(0), length = segments.dim(1);
  const Tensor ids = ops::cast(segments, DType::f32);
  const Tensor distance = ops::abs(
      ops::sub(ops::reshape(ids, {rows, 1, length, 1}), ops::reshape(ids, {rows, 1, 1, length})));
  const Tensor ones = ops::add(Tensor::zeros(segments.device(), distance.shape()), 1.0F);
  return ops::mul(ops::min(distance, ones), kUnseen);  // ids are integers
}

}  // namespace

void ReuseBlockConfig::validate(Diagnostics& diagnostics) const {
  if (num_heads > 0 && input_dims % num_heads != 0) {
    diagnostics.add("num_heads",
                    "is " + std::to_string(num_heads) +
                        ", which does not divide input_dims = " + std::to_string(input_dims),
                    "use a divisor of input_dims");
  }
  if (num_heads > 0 && reuse_heads > num_heads) {
    diagnostics.add("reuse_heads", "is " + std::to_string(reuse_heads) + ", but there are " +
                                       std::to_string(num_heads) + " heads");
  }
  if (pe_max_seq_length && !use_relative_pe) {
    diagnostics.add("pe_max_seq_length", "is not used without use_relative_pe");
  }
  if (norm_policy != NormPolicy::pre && norm_policy != NormPolicy::post_skip) {
    diagnostics.add("norm_policy", "must be pre or post_skip");
  }
}

ReuseBlock::ReuseBlock(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(expect_set(kReuseBlock, path_, "input_dims", config.input_dims)),
      heads_(expect_set(kReuseBlock, path_, "num_heads", config.num_heads)),
      reused_(config.reuse_heads),
      norm_first_(config.norm_policy == NormPolicy::pre),
      atten_dropout_(static_cast<float>(config.atten_dropout)) {
  const auto norm = [&](const char* name) {
    ConfigOf<Layer> layer = config.norm_tpl;
    if (layer) complete(layer, "dim", input_dims_, 0);
    return scope.layer(name, layer);
  };
  attention_norm_ = norm("attention_norm");
  Scope attention = scope.child("attention");
  const auto product = [&](const char* name, std::int64_t dims) {
    return attention.layer(name, linear(input_dims_, dims, kBias, config.init, {}));
  };
  const std::int64_t computed = (heads_ - reused_) * (input_dims_ / heads_);
  if (computed > 0) {
    query_ = product("query", computed);
    key_ = product("key", computed);
    if (config.use_relative_pe) {
      const std::int64_t distances = 2 * config.pe_max_seq_length.value_or(kPositions) - 1;
      relative_pe_ = &attention.parameter("relative_pe", {distances, heads_ - reused_},
                                          {.init = {Init::truncated_normal, kPositionDeviation}});
    }
  }
  value_ = product("value", input_dims_);
  output_ = product("output", input_dims_);
  dropout_ = scope.layer("attention_dropout", dropout(config.dropout));
  mlp_norm_ = norm("mlp_norm");
  FeedForwardConfig mlp;
  mlp.input_dims = input_dims_;
  mlp.hidden_dims = config.hidden_dims;
  mlp.activation = config.activation;
  mlp.relu_dropout = config.dropout;
  mlp.init = config.init;
  mlp_ = std::make_shared<FeedForward>(mlp, scope, "mlp_");
  mlp_dropout_ = scope.layer("output_dropout", dropout(config.dropout));
}

Tensor ReuseBlock::distance_bias(std::int64_t length) const {
  const Tensor table = relative_pe_->value();
  const std::int64_t last = table.dim(0) - 1;
  std::vector<std::int32_t> rows;
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t j = 0; j < length; ++j) {
      rows.push_back(
          static_cast<std::int32_t>(std::clamp<std::int64_t>(j - i + last / 2, 0, last)));
    }
  }
  const Tensor numbers =
      ops::gather_rows(table, Tensor::from<std::int32_t>(table.device(), rows, {length, length}));
  return ops::reshape(ops::contiguous(ops::transpose(numbers, {2, 0, 1})),
                      {1, heads_ - reused_, length, length});
}

Tensor ReuseBlock::new_weights(const Tensor& x, FpropContext& context) const {
  const std::int64_t heads = heads_ - reused_;
  const float root = std::sqrt(static_cast<float>(input_dims_ / heads_));
  const Tensor q =
      split_heads(ops::mul(named_fprop("query_proj", *query_, x, context), 1 / root), heads);
  const Tensor k = split_heads(named_fprop("key_proj", *key_, x, context), heads);
  Tensor scores = ops::matmul(q, k, {.transpose_b = true});
  if (relative_pe_ != nullptr) scores = ops::add(scores, distance_bias(x.dim(1)));
  const Tensor segments =
      segments_of(fitting(context.segment_ids, x), fitting(context.paddings, x));
  if (segments.defined()) scores = ops::add(scores, unseen(segments));
  return ops::softmax(scores);
}

Tensor ReuseBlock::attend(const Tensor& x, Tensor& weights, FpropContext& context) const {
  if (reused_ > 0 && !weights.defined()) {
    throw Error("[nn/ReuseBlock] '" + path_ + "' has reuse_heads, but no block is below it",
                {.hint = "use nn/ReuseTransformer as the stack"});
  }
  if (reused_ > 0) {
    const Tensor below = ops::contiguous(ops::slice(weights, 1, 0, reused_));
    if (query_) {
      const Tensor parts[] = {new_weights(x, context), below};
      weights = ops::concat(parts, 1);
    } else {
      weights = below;
    }
  } else {
    weights = new_weights(x, context);
  }
  Tensor kept = weights;
  if (context.train && atten_dropout_ > 0) {
    kept = ops::dropout(weights, atten_dropout_, context.key_for(path_, "atten_dropout"));
  }
  const Tensor v = split_heads(named_fprop("value_proj", *value_, x, context), heads_);
  Tensor mixed;
  {
    const CheckpointName name("context");
    mixed = ops::matmul(kept, v);
  }
  return named_fprop("out_proj", *output_,
                     ops::reshape(ops::contiguous(ops::transpose(mixed, {0, 2, 1, 3})), x.shape()),
                     context);
}

Tensor ReuseBlock::fprop(const Tensor& x, Tensor& weights, FpropContext& context) const {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input(kReuseBlock, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  const auto through = [&](const std::shared_ptr<Layer>& layer, const Tensor& of) {
    return layer ? layer->fprop(of, context) : of;
  };
  const auto before = [&](const std::shared_ptr<Layer>& norm, const Tensor& of) {
    return norm_first_ ? through(norm, of) : of;
  };
  const auto after = [&](const std::shared_ptr<Layer>& norm, const Tensor& of) {
    return norm_first_ ? of : through(norm, of);
  };
  const Tensor mixed = attend(before(attention_norm_, x), weights, context);
  const Tensor h = after(attention_norm_, ops::add(x, through(dropout_, mixed)));
  const Tensor mlp = mlp_->fprop(before(mlp_norm_, h), context);
  return after(mlp_norm_, ops::add(h, through(mlp_dropout_, mlp)));
}

const void* ReuseBlock::extension(std::string_view id) const noexcept {
  return id == kReuseBlockExtension ? this : Layer::extension(id);
}

Tensor ReuseBlock::fprop(const Tensor& x, FpropContext& context) {
  Tensor none;
  return fprop(x, none, context);
}

}  // namespace trivet::nn
