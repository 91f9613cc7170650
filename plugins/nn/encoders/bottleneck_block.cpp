// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/bottleneck_block.h"

#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"
#include "nn/basic/templates.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

constexpr const char* kBottleneckBlock = "nn/BottleneckBlock";
constexpr bool kHasBias = true;

Tensor through_norm(const std::shared_ptr<Layer>& norm, const Tensor& x, FpropContext& context) {
  return norm ? norm->fprop(x, context) : x;
}

}  // namespace

void BottleneckBlockConfig::validate(Diagnostics& diagnostics) const {
  if (num_heads > 0 && bottleneck_dims % num_heads != 0) {
    diagnostics.add("bottleneck_dims", "is " + std::to_string(bottleneck_dims) +
                                           ", which num_heads = " + std::to_string(num_heads) +
                                           " does not divide");
  }
}

BottleneckBlock::BottleneckBlock(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(expect_set(kBottleneckBlock, path_, "input_dims", config.input_dims)),
      dims_(config.bottleneck_dims),
      heads_(expect_set(kBottleneckBlock, path_, "num_heads", config.num_heads)),
      of_bottleneck_(config.use_bottleneck_attention),
      atten_dropout_(static_cast<float>(config.atten_dropout)) {
  const auto product = [&](Scope& in, const char* name, std::int64_t from, std::int64_t to,
                           const ConfigOf<Layer>& activation = {}) {
    return in.layer(name, linear(from, to, kHasBias, config.init, {}, activation));
  };
  const auto norm = [&](const std::string& name, std::int64_t dims) {
    ConfigOf<Layer> layer = config.norm_tpl;
    if (layer) complete(layer, "dim", dims, 0);
    return scope.layer(name, layer);
  };
  bottleneck_ = {product(scope, "bottleneck", input_dims_, dims_), norm("bottleneck_norm", dims_)};
  if (!of_bottleneck_ && config.key_query_shared_bottleneck) {
    shared_ = {product(scope, "shared", input_dims_, dims_), norm("shared_norm", dims_)};
  }
  const std::int64_t value_dims = of_bottleneck_ ? dims_ : input_dims_;
  const std::int64_t key_dims = shared_.linear ? dims_ : value_dims;
  Scope attention = scope.child("attention");
  query_ = product(attention, "query", key_dims, dims_);
  key_ = product(attention, "key", key_dims, dims_);
  value_ = product(attention, "value", value_dims, dims_);
  attention_output_ = product(attention, "output", dims_, dims_);
  attention_norm_ = norm("attention_norm", dims_);
  const std::int64_t hidden = config.hidden_dims > 0 ? config.hidden_dims : 4 * dims_;
  for (std::int64_t i = 0; i < config.num_feedforward_networks; ++i) {
    const std::string name = "ffn_" + std::to_string(i);
    Scope network = scope.child(name);
    networks_.push_back({product(network, "in", dims_, hidden, config.activation),
                         product(network, "out", hidden, dims_), norm(name + "_norm", dims_)});
  }
  output_ = {product(scope, "output", dims_, input_dims_), norm("output_norm", input_dims_)};
  dropout_ = scope.layer("output_dropout", dropout(config.dropout));
}

Tensor BottleneckBlock::attend(const Tensor& x, const Tensor& b, FpropContext& context) const {
  const Tensor values = of_bottleneck_ ? b : x;
  const Tensor shared = shared_.linear
                            ? through_norm(shared_.norm, shared_.linear->fprop(x, context), context)
                            : values;
  const auto by_head = [&](const std::shared_ptr<Layer>& layer, const Tensor& of) {
    return ops::reshape(layer->fprop(of, context), {x.dim(0), x.dim(1), heads_, dims_ / heads_});
  };
  ops::AttentionOptions options;
  if (context.train && atten_dropout_ > 0) {
    options.dropout = atten_dropout_;
    options.dropout_key = context.key_for(path_, "atten_dropout");
  }
  const Tensor segments =
      segments_of(fitting(context.segment_ids, x), fitting(context.paddings, x));
  set_segments(options, x, segments, x, segments);
  const Tensor mixed = ops::attention(by_head(query_, shared), by_head(key_, shared),
                                      by_head(value_, values), options);
  return attention_output_->fprop(ops::reshape(mixed, {x.dim(0), x.dim(1), dims_}), context);
}

Tensor BottleneckBlock::fprop(const Tensor& x, FpropContext& context) {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input(kBottleneckBlock, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  const Tensor b = through_norm(bottleneck_.norm, bottleneck_.linear->fprop(x, context), context);
  Tensor h = through_norm(attention_norm_, ops::add(b, attend(x, b, context)), context);
  for (const FeedForwardNetwork& network : networks_) {
    const Tensor inner = network.out->fprop(network.in->fprop(h, context), context);
    h = through_norm(network.norm, ops::add(h, inner), context);
  }
  Tensor y = output_.linear->fprop(h, context);
  if (dropout_) y = dropout_->fprop(y, context);
  return through_norm(output_.norm, ops::add(x, y), context);
}

}  // namespace trivet::nn
