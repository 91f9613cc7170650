// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/multi_head_attention.h"

#include <algorithm>
#include <cmath>

#include "nn/basic/checks.h"
#include "nn/basic/parametrization.h"
#include "nn/basic/sequence_context.h"
#include "nn/basic/templates.h"
#include "nn/remat/checkpoint_policy.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

constexpr const char* kMultiHeadAttention = "nn/MultiHeadAttention";
constexpr float kLog2E = 1.442695041F;  // 1 / softplus(0), as Praxis writes it

std::int64_t head_dims(const MultiHeadAttentionConfig& config) {
  return config.dims_per_head > 0 ? config.dims_per_head : config.input_dims / config.num_heads;
}

ConfigOf<Layer> head_norm(bool wanted, std::int64_t dims) {
  if (!wanted) return {};
  return {"nn/RmsNorm", Value::table({{"dim", dims}})};
}

ConfigOf<Layer> convolution(bool wanted, std::int64_t dims, std::int64_t kernel) {
  if (!wanted) return {};
  return {"nn/CausalDepthwiseConv1d", Value::table({{"dims", dims}, {"kernel", kernel}})};
}

ConfigOf<Layer> bias_for(ConfigOf<Layer> layer, std::int64_t heads) {
  if (layer) complete(layer, "num_heads", heads, 0);
  return layer;
}

// Devices need as many kv heads each, or as many devices one kv head.
MeshAxis heads_axis_for(const MultiHeadAttentionConfig& config, std::int64_t kv_heads,
                        const Scope& scope) {
  constexpr std::string_view kField = "weight_split_dims_mapping.proj";
  const SplitDims& proj = config.weight_split_dims_mapping.proj;
  const AxisSplit split =
      split_of(proj, {config.input_dims, config.num_heads, head_dims(config)}, scope, kField);
  const std::int64_t devices = split.axis.extent();
  if (!split.is_over(1) || kv_heads % devices == 0 || devices % kv_heads == 0) return split.axis;
  if (proj.dims[1].where_it_divides) return {};
  refuse_split(split.axis, "num_kv_heads = " + std::to_string(kv_heads), scope, kField);
}

}  // namespace

void MultiHeadAttentionConfig::validate(Diagnostics& diagnostics) const {
  if (dims_per_head == 0 && num_heads > 0 && input_dims % num_heads != 0) {
    diagnostics.add("num_heads",
                    "is " + std::to_string(num_heads) +
                        ", which does not divide input_dims = " + std::to_string(input_dims),
                    "use a divisor of input_dims");
  }
  if (num_kv_heads > 0 && num_heads % num_kv_heads != 0) {
    diagnostics.add("num_kv_heads",
                    "is " + std::to_string(num_kv_heads) +
                        ", which does not divide num_heads = " + std::to_string(num_heads));
  }
  if (rotary_dims % 2 != 0) {
    diagnostics.add("rotary_dims", "is " + std::to_string(rotary_dims) + ", not an even number");
  }
  if (cross_attention && (causal || window > 0 || right_context || use_rotary_position_emb ||
                          relative_bias || rel_pos_emb_dim > 0 || dconv_qkv)) {
    diagnostics.add("cross_attention",
                    "excludes causal, window, right_context, use_rotary_position_emb, "
                    "relative_bias, rel_pos_emb_dim and dconv_qkv: the positions of two sequences "
                    "have no order");
  }
  if (causal && right_context.value_or(0) > 0) {
    diagnostics.add(
        "right_context",
        "is " + std::to_string(*right_context) + ", but causal attention sees no later positions",
        "leave it out, or set causal = false");
  }
  for (const std::size_t dim : {0, 2}) {
    const SplitDims& proj = weight_split_dims_mapping.proj;
    if (dim >= proj.dims.size()) continue;
    if (std::ranges::find(proj.dims[dim].axes, "mdl") == proj.dims[dim].axes.end()) continue;
    diagnostics.add("weight_split_dims_mapping.proj",
                    "splits dimension " + std::to_string(dim) +
                        " over mdl, and attention splits its heads only",
                    "for example [\"data\", \"mdl\", -1]");
  }
  if (!use_rotary_position_emb || num_heads == 0 || input_dims == 0) return;
  const std::int64_t dims = head_dims(*this);
  if ((rotary_dims == 0 && dims % 2 != 0) || rotary_dims > dims) {
    diagnostics.add("rotary_dims",
                    "must be even and at most the " + std::to_string(dims) + " features of a head");
  }
}

MultiHeadAttention::MultiHeadAttention(const Config& config, Scope& scope)
    : path_(scope.path()),
      device_(scope.device()),
      input_dims_(expect_set(kMultiHeadAttention, path_, "input_dims", config.input_dims)),
      heads_(expect_set(kMultiHeadAttention, path_, "num_heads", config.num_heads)),
      kv_heads_(config.num_kv_heads > 0 ? config.num_kv_heads : config.num_heads),
      head_dims_(head_dims(config)),
      cross_dims_(config.cross_dims > 0 ? config.cross_dims : config.input_dims),
      heads_axis_(heads_axis_for(config, kv_heads_, scope)),
      causal_(config.causal || config.right_context == 0),
      cross_(config.cross_attention),
      rotary_(config.use_rotary_position_emb),
      right_context_(config.right_context.value_or(0)),
      right_limit_(causal_ || config.right_context.has_value()),
      theta_(static_cast<float>(config.rotary_theta)),
      rotary_dims_(config.rotary_dims),
      window_(config.window),
      softcap_(static_cast<float>(config.atten_logit_cap)),
      dropout_(static_cast<float>(config.atten_dropout)) {
  if (config.attention_extra_logit) {
    extra_logit_ = static_cast<float>(*config.attention_extra_logit);
  }
  const auto product = [&](const char* name, std::int64_t in, std::int64_t out,
                           const InitConfig& init, const SplitDims& split = {}) {
    ConfigOf<Layer> layer = linear(in, out, config.has_bias, init, lora_of(config.lora, name));
    if (heads_axis_.is_split()) layer = with_split(std::move(layer), split);
    return scope.layer(name,
                       parametrized(layer, config.parametrization, config.input_quantization));
  };
  const std::int64_t source_dims = cross_ ? cross_dims_ : input_dims_;
  const SplitDims columns = {"", "mdl"}, rows = {"mdl", ""};
  const SplitDims of_kv = shares_kv_heads() ? SplitDims() : columns;
  products_[kQuery] = product("query", input_dims_, heads_ * head_dims_, config.init, columns);
  products_[kKey] = product("key", source_dims, kv_heads_ * head_dims_, config.init, of_kv);
  products_[kValue] = product("value", source_dims, kv_heads_ * head_dims_, config.init, of_kv);
  output_ = product("output", heads_ * head_dims_, input_dims_,
                    init_or(config.output_init, config.init), rows);
  for (const Product i : {kQuery, kKey, kValue}) {
    static constexpr const char* kNames[] = {"dconv_q", "dconv_k", "dconv_v"};
    const std::int64_t dims = (i == kQuery ? heads_ : kv_heads_) * head_dims_;
    convolutions_[i] =
        scope.layer(kNames[i], convolution(config.dconv_qkv, dims, config.dconv_kernel_size));
  }
  query_norm_ = scope.layer("query_norm", head_norm(config.qk_norm, head_dims_));
  key_norm_ = scope.layer("key_norm", head_norm(config.qk_norm, head_dims_));
  relative_bias_ = scope.layer("relative_bias", bias_for(config.relative_bias, heads_));
  if (config.per_dim_scale) {
    per_dim_scale_ = &scope.parameter("per_dim_scale", {head_dims_}, {.init = {Init::constant, 0}});
  }
  if (config.rel_pos_emb_dim > 0) {
    relative_.emplace(config.rel_pos_emb_dim, heads_, head_dims_, config.init, scope);
  }
}

void MultiHeadAttention::check_input(const Tensor& x) const {
  if (x.rank() == 3 && x.dim(2) == input_dims_) return;
  wrong_input(kMultiHeadAttention, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
}

Tensor MultiHeadAttention::by_head(Product product, const Tensor& x, LayerCaches* convolved,
                                   FpropContext& context) const {
  static constexpr const char* kNames[] = {"query_proj", "key_proj", "value_proj"};
  Tensor y = named_fprop(kNames[product], *products_[product], x, context);
  if (Layer* convolution = convolutions_[product].get(); convolution != nullptr) {
    y = convolved != nullptr ? trivet::extend_step(*convolution, y, convolved->at(product), context)
                             : convolution->fprop(y, context);
  }
  const std::int64_t heads = product == kQuery ? heads_ : kv_heads_;
  return ops::reshape(y, {x.dim(0), x.dim(1), heads, head_dims_});
}

Tensor MultiHeadAttention::queries(const Tensor& x, const Tensor& positions, LayerCaches* convolved,
                                   FpropContext& context) const {
  Tensor q = by_head(kQuery, x, convolved, context);
  if (rotary_) q = ops::rope(q, positions, theta_, rotary_dims_);
  if (query_norm_) q = query_norm_->fprop(q, context);
  if (per_dim_scale_ != nullptr) return ops::mul(q, query_scale());
  return relative_ ? ops::mul(q, 1 / std::sqrt(static_cast<float>(head_dims_))) : q;
}

// [head_dims]
Tensor MultiHeadAttention::query_scale() const {
  const float root = std::sqrt(static_cast<float>(head_dims_));
  return ops::mul(ops::softplus(per_dim_scale_->value()), kLog2E / root);
}

MultiHeadAttention::KeysAndValues MultiHeadAttention::keys_and_values(const Tensor& x,
                                                                      const Tensor& positions,
                                                                      LayerCaches* convolved,
                                                                      FpropContext& context) const {
  Tensor k = by_head(kKey, x, convolved, context);
  if (rotary_) k = ops::rope(k, positions, theta_, rotary_dims_);
  if (key_norm_) k = key_norm_->fprop(k, context);
  return {k, by_head(kValue, x, convolved, context)};
}

MultiHeadAttention::Source MultiHeadAttention::cross_source(const Tensor& x,
                                                            FpropContext& context) const {
  const Tensor& source = context.cross_inputs;
  if (!source.defined()) {
    throw Error("[nn/MultiHeadAttention] '" + path_ + "': the context has no cross_inputs",
                {.hint = "the model must put its encoder's output into the context"});
  }
  if (source.rank() != 3 || source.dim(0) != x.dim(0) || source.dim(2) != cross_dims_) {
    wrong_input(
        kMultiHeadAttention, path_,
        "cross_inputs [" + std::to_string(x.dim(0)) + ", S, " + std::to_string(cross_dims_) + "]",
        source);
  }
  const Tensor ids = fitting(context.cross_segment_ids, source);
  const bool segmented = ids.defined() && fitting(context.segment_ids, x).defined();
  return {keys_and_values(source, {}, nullptr, context),
          segments_of(segmented ? ids : Tensor(), fitting(context.cross_paddings, source)),
          segmented};
}

ops::AttentionOptions MultiHeadAttention::options(const FpropContext& context,
                                                  std::int64_t first) const {
  // Positions up to i + right_context are those that causality shows to a query so much later.
  ops::AttentionOptions options{.scale = per_dim_scale_ != nullptr || relative_ ? 1.0F : 0.0F,
                                .causal = right_limit_,
                                .window = window_ > 0 ? window_ + right_context_ : 0,
                                .softcap = softcap_,
                                .q_offset = first + right_context_,
                                .extra_logit = extra_logit_};
  if (context.train && dropout_ > 0) {
    options.dropout = dropout_;
    options.dropout_key = context.key_for(path_, "atten_dropout");
  }
  return options;
}

Tensor MultiHeadAttention::bias(const Tensor& at, const Tensor& of, bool alike,
                                FpropContext& context) const {
  Tensor distance;  // key - query, i32 [B, Tq, Tkv]
  {
    NoGrad no_grad;
    const std::int64_t rows = alike ? std::min<std::int64_t>(at.dim(0), 1) : at.dim(0);
    const auto numbers = [rows](const Tensor& positions, const Shape& shape) {
      return ops::reshape(ops::cast(ops::slice(positions, 0, 0, rows), DType::f32), shape);
    };
    const Tensor queries = numbers(at, {rows, at.dim(1), 1});
    const Tensor keys = numbers(of, {rows, 1, of.dim(1)});
    distance = ops::cast(ops::sub(keys, queries), DType::i32);
  }
  return relative_bias_->fprop(distance, context);
}

Tensor MultiHeadAttention::attend(const Tensor& q, const KeysAndValues& kv,
                                  ops::AttentionOptions options, SequenceBuffer* known,
                                  FpropContext& context) const {
  Tensor asking = q;
  if (relative_) {
    const Tensor scores = known != nullptr ? relative_->bias(q, *known, context)
                                           : relative_->bias(q, kv.keys.dim(1), context);
    options.bias = options.bias.defined() ? ops::add(scores, options.bias) : scores;
    asking = relative_->content(q);
  }
  return output_of(mixed_blocks(blocks_of(asking, kv), options), context);
}

Tensor MultiHeadAttention::cross_attend(const Tensor& x, const Source& source,
                                        FpropContext& context) const {
  ops::AttentionOptions how = options(context);
  const Tensor ids = source.segmented ? fitting(context.segment_ids, x) : Tensor();
  set_segments(how, x, ids, source.kv.keys, source.segments);
  return attend(queries(x, {}, nullptr, context), source.kv, how, nullptr, context);
}

Tensor MultiHeadAttention::fprop(const Tensor& x, FpropContext& context) {
  check_input(x);
  if (cross_) return cross_attend(x, cross_source(x, context), context);
  const Tensor positions = positioned() ? positions_of(x, context) : Tensor();
  ops::AttentionOptions how = options(context);
  const Tensor segments =
      segments_of(fitting(context.segment_ids, x), fitting(context.paddings, x));
  set_segments(how, x, segments, x, segments);
  if (causal_) how.kv_prefix = fitting(context.inputs_indicator, x);
  if (relative_bias_) {
    how.bias = bias(positions, positions, !fitting(context.positions, x).defined(), context);
  }
  if (makes_blocks()) {
    return output_of(mixed_blocks(make_blocks(x, positions, context), how), context);
  }
  const Tensor q = queries(x, positions, nullptr, context);
  return attend(q, keys_and_values(x, positions, nullptr, context), how, nullptr, context);
}

}  // namespace trivet::nn
