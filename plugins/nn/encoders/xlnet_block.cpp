// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/xlnet_block.h"

#include <cmath>
#include <vector>

#include "nn/attention/feed_forward.h"
#include "nn/attention/xl_positions.h"
#include "nn/basic/checks.h"
#include "nn/basic/templates.h"
#include "nn/remat/checkpoint_policy.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

constexpr const char* kXlnetBlock = "nn/XlnetBlock";
constexpr bool kNoBias = false;
constexpr float kHiddenScore = -1e30F;

InitConfig bias_init() {
  return {Init::normal, kXlnetBiasDeviation};
}

// [B, T, H, D] -> [B, H, T, D], for each stream.
Tensor heads_first(const Tensor& x, std::int64_t streams) {
  const Tensor first = ops::contiguous(ops::transpose(x, {0, 2, 1, 3}));
  return streams == 1
             ? first
             : ops::concat(std::vector<Tensor>(static_cast<std::size_t>(streams), first), 0);
}

}  // namespace

void XlnetBlockConfig::validate(Diagnostics& diagnostics) const {
  if (num_heads > 0 && dims_per_head == 0 && input_dims % num_heads != 0) {
    diagnostics.add("num_heads",
                    "is " + std::to_string(num_heads) +
                        ", which does not divide input_dims = " + std::to_string(input_dims),
                    "use a divisor of input_dims, or set dims_per_head");
  }
  if (input_dims % 2 != 0) {
    diagnostics.add("input_dims", "is " + std::to_string(input_dims) +
                                      ", but sines and cosines of positions need an even number");
  }
}

XlnetBiases::XlnetBiases(std::int64_t heads, std::int64_t head_dims, bool has_segment,
                         const Scope& scope) {
  Scope own = scope;
  const auto bias = [&](const char* name) {
    return &own.parameter(name, {heads, head_dims}, {.init = bias_init()});
  };
  content = bias("content_bias");
  position = bias("position_bias");
  if (has_segment) segment = bias("segment_bias");
}

XlnetBlock::XlnetBlock(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(expect_set(kXlnetBlock, path_, "input_dims", config.input_dims)),
      heads_(expect_set(kXlnetBlock, path_, "num_heads", config.num_heads)),
      head_dims_(config.dims_per_head > 0 ? config.dims_per_head : input_dims_ / heads_),
      atten_dropout_(static_cast<float>(config.atten_dropout)) {
  Scope attention = scope.child("attention");
  const std::int64_t dims = heads_ * head_dims_;
  const auto product = [&](const char* name, std::int64_t from, std::int64_t to) {
    return attention.layer(name, linear(from, to, kNoBias, config.init, {}));
  };
  query_ = product("query", input_dims_, dims);
  key_ = product("key", input_dims_, dims);
  value_ = product("value", input_dims_, dims);
  position_ = product("position", input_dims_, dims);
  output_ = product("output", dims, input_dims_);
  if (config.has_attention_biases) {
    biases_ =
        std::make_unique<XlnetBiases>(heads_, head_dims_, config.has_segment_encoding, attention);
  }
  if (config.has_segment_encoding) {
    segment_encoding_ =
        &attention.parameter("segment_encoding", {2, heads_, head_dims_}, {.init = bias_init()});
  }
  const auto norm = [&](const char* name) {
    ConfigOf<Layer> layer = config.norm_tpl;
    if (layer) complete(layer, "dim", input_dims_, 0);
    return scope.layer(name, layer);
  };
  dropout_ = scope.layer("attention_dropout", dropout(config.dropout));
  attention_norm_ = norm("attention_norm");
  FeedForwardConfig mlp;
  mlp.input_dims = input_dims_;
  mlp.hidden_dims = config.hidden_dims;
  mlp.activation = config.activation;
  mlp.relu_dropout = config.relu_dropout;
  mlp.init = config.init;
  mlp_ = std::make_shared<FeedForward>(mlp, scope, "mlp_");
  mlp_dropout_ = scope.layer("output_dropout", dropout(config.dropout));
  mlp_norm_ = norm("mlp_norm");
}

Tensor XlnetBlock::by_head(const Tensor& x) const {
  return ops::reshape(x, {x.dim(0), x.dim(1), heads_, head_dims_});
}

Tensor XlnetBlock::scores(const Tensor& q, const Tensor& k, const XlnetSight& sight,
                          const XlnetBiases& biases, FpropContext& context) const {
  const std::int64_t rows = q.dim(0), length = q.dim(1);
  const Tensor asking =
      ops::contiguous(ops::transpose(ops::add(q, biases.content->value()), {0, 2, 1, 3}));
  Tensor sum = ops::matmul(asking, k, {.transpose_b = true});
  const Tensor distances = ops::reshape(position_->fprop(sight.sines, context),
                                        {sight.sines.dim(1), heads_ * head_dims_});
  sum = ops::add(sum, relative_scores(ops::add(q, biases.position->value()), distances, length));
  if (segment_encoding_ != nullptr && sight.unlike.defined()) {
    const Tensor by_head =
        ops::reshape(ops::transpose(ops::add(q, biases.segment->value()), {2, 0, 1, 3}),
                     {heads_, rows * length, head_dims_});
    const Tensor encodings = ops::contiguous(ops::transpose(segment_encoding_->value(), {1, 0, 2}));
    const Tensor both =
        ops::transpose(ops::reshape(ops::matmul(by_head, encodings, {.transpose_b = true}),
                                    {heads_, rows, length, 2}),
                       {1, 0, 2, 3});
    const Tensor alike = ops::slice(both, 3, 0, 1), unlike = ops::slice(both, 3, 1, 2);
    sum = ops::add(sum, ops::add(alike, ops::mul(ops::sub(unlike, alike), sight.unlike)));
  }
  return ops::mul(sum, 1 / std::sqrt(static_cast<float>(head_dims_)));
}

Tensor XlnetBlock::attend(const Tensor& x, const XlnetSight& sight, const XlnetBiases& biases,
                          FpropContext& context) const {
  const std::int64_t rows = x.dim(0), length = x.dim(1);
  const Tensor content = ops::slice(x, 0, 0, rows / sight.streams);
  const auto from_content = [&](const char* name, Layer& product) {
    return heads_first(by_head(named_fprop(name, product, content, context)), sight.streams);
  };
  const Tensor q = by_head(named_fprop("query_proj", *query_, x, context));
  Tensor weights = scores(q, from_content("key_proj", *key_), sight, biases, context);
  if (sight.seen.defined()) {
    const Tensor hidden = ops::add(ops::neg(sight.seen), 1.0F);
    // Where nothing is seen, the softmax is uniform and the product makes it 0.
    weights = ops::mul(ops::softmax(ops::add(weights, ops::mul(hidden, kHiddenScore))), sight.seen);
  } else {
    weights = ops::softmax(weights);
  }
  if (context.train && atten_dropout_ > 0) {
    weights = ops::dropout(weights, atten_dropout_, context.key_for(path_, "atten_dropout"));
  }
  const Tensor v = from_content("value_proj", *value_);
  Tensor mixed;
  {
    const CheckpointName name("context");
    mixed = ops::matmul(weights, v);
  }
  return named_fprop("out_proj", *output_,
                     ops::reshape(ops::contiguous(ops::transpose(mixed, {0, 2, 1, 3})),
                                  {rows, length, heads_ * head_dims_}),
                     context);
}

Tensor XlnetBlock::fprop(const Tensor& x, const XlnetSight& sight, const XlnetBiases* shared,
                         FpropContext& context) const {
  const XlnetBiases* biases = shared != nullptr ? shared : biases_.get();
  if (biases == nullptr) {
    throw Error("[nn/XlnetBlock] '" + path_ + "' has no attention biases of its own",
                {.hint = "leave has_attention_biases out, and use nn/XlnetTransformer as the "
                         "stack"});
  }
  const auto through = [&](const std::shared_ptr<Layer>& layer, const Tensor& of) {
    return layer ? layer->fprop(of, context) : of;
  };
  const Tensor mixed = through(dropout_, attend(x, sight, *biases, context));
  const Tensor h = through(attention_norm_, ops::add(x, mixed));
  return through(mlp_norm_, ops::add(h, through(mlp_dropout_, mlp_->fprop(h, context))));
}

const void* XlnetBlock::extension(std::string_view id) const noexcept {
  return id == kXlnetBlockExtension ? this : Layer::extension(id);
}

Tensor XlnetBlock::fprop(const Tensor& x, FpropContext& context) {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input(kXlnetBlock, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  return fprop(x, xlnet_sight(x, {}, {}, context), nullptr, context);
}

}  // namespace trivet::nn
