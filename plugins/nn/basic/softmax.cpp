// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/softmax.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/basic/checks.h"
#include "nn/split/axis_split.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"
#include "trivet/ops/ops_mesh.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

// As many rows as ops::linear_cross_entropy processes at a time.
constexpr std::int64_t kChunkRows = 512;
// As in Praxis: a total weight of 0 gives a loss of 0.
constexpr float kLeastWeight = 1e-6F;

// Praxis gives the other classes p / (n - 1) each; the op gives s / n to all, the label among them.
float as_share_of_all(double p, std::int64_t classes) {
  const auto n = static_cast<double>(classes);
  return p == 0 ? 0 : static_cast<float>(p * n / (n - 1));
}

// [input_dims, num_classes].
Shape sized(const char* layer, const SoftmaxConfig& config, const Scope& scope) {
  return {expect_set(layer, scope.path(), "input_dims", config.input_dims),
          expect_set(layer, scope.path(), "num_classes", config.num_classes)};
}

Shape transposed(const Shape& shape) {
  return {shape[1], shape[0]};
}

double root(std::int64_t dims) {
  return std::sqrt(static_cast<double>(dims));
}

}  // namespace

void SoftmaxConfig::validate(Diagnostics& diagnostics) const {
  if (label_smoothing_prob > 0 && num_classes == 1) {
    diagnostics.add("label_smoothing_prob", "needs another class, but num_classes is 1");
  }
}

SoftmaxLayer::SoftmaxLayer(std::string_view type, const SoftmaxConfig& config, bool has_bias,
                           Scope& scope, Parameter& weights, Weights layout, double logits_abs_max)
    : type_(type),
      path_(scope.path()),
      input_dims_(config.input_dims),
      num_classes_(config.num_classes),
      softcap_(static_cast<float>(config.soft_cap_logits)),
      clip_(static_cast<float>(logits_abs_max)),
      scale_(config.scale_before_logits ? static_cast<float>(1 / root(config.input_dims)) : 1),
      smoothing_(as_share_of_all(config.label_smoothing_prob, config.num_classes)),
      z_loss_(static_cast<float>(config.z_loss_weight)),
      smooth_evaluation_(config.label_smoothing_apply_for_eval),
      transposed_(layout == Weights::by_class),
      weights_(weights),
      bias_(has_bias ? &scope.parameter("b", {config.num_classes},
                                        {.init = config.bias_init, .fallback = {Init::constant, 0}})
                     : nullptr),
      axis_(axis_of(weights, scope)) {}

std::int64_t SoftmaxLayer::blocks_of(const SplitDims& wt, const Shape& shape,
                                     std::size_t classes_dim, const Scope& scope) {
  constexpr const char* kField = "weight_split_dims_mapping.wt";
  const AxisSplit split = split_of(wt, shape, scope, kField);
  if (!split.is_split() || split.is_over(classes_dim)) return split.axis.extent();
  refuse_mapping("splits input_dims over mdl, but a softmax is split by classes",
                 "name mdl in the entry of num_classes", scope, kField);
}

Tensor SoftmaxLayer::scaled(const Tensor& h) const {
  expect_last(type_, path_, h, input_dims_);
  return scale_ == 1 ? h : ops::mul(h, scale_);
}

Tensor SoftmaxLayer::products(const Tensor& h) const {
  const ops::MatmulOptions options{.transpose_b = transposed_};
  if (!axis_.is_split()) return ops::matmul(h, weights(), options);
  const std::vector<Tensor> w = ops::split_blocks(weights(), class_dim(), axis_);
  std::vector<Tensor> blocks = ops::fan_out(h, axis_);
  for (std::size_t i = 0; i < w.size(); ++i) blocks[i] = ops::matmul(blocks[i], w[i], options);
  return ops::gather_blocks(blocks, -1, axis_);
}

Tensor SoftmaxLayer::capped_logits(const Tensor& h) const {
  Tensor y = products(h);
  if (bias_ != nullptr) y = ops::add(y, bias_->value());
  if (softcap_ > 0) y = ops::mul(ops::tanh(ops::mul(y, 1 / softcap_)), softcap_);
  if (clip_ == 0) return y;
  return ops::max(ops::min(y, Tensor::scalar(y.device(), clip_)),
                  Tensor::scalar(y.device(), -clip_));
}

Tensor SoftmaxLayer::average(const Tensor& total_xent, const Tensor& total_weight) {
  return ops::div(total_xent, ops::add(total_weight, kLeastWeight));
}

Tensor SoftmaxLayer::logits(const Tensor& h, FpropContext&) {
  return capped_logits(scaled(h));
}

Tensor SoftmaxLayer::argmax(const Tensor& h) const {
  NoGrad no_grad;
  const Tensor rows = ops::reshape(h, {h.size() / input_dims_, input_dims_});
  std::vector<std::int64_t> extents(h.shape().begin(), h.shape().end() - 1);
  if (rows.dim(0) == 0) return Tensor::zeros(h.device(), Shape(extents), DType::i32);
  std::vector<Tensor> parts;
  for (std::int64_t begin = 0; begin < rows.dim(0); begin += kChunkRows) {
    const std::int64_t end = std::min(rows.dim(0), begin + kChunkRows);
    parts.push_back(ops::argmax(capped_logits(ops::slice(rows, 0, begin, end)), -1));
  }
  return ops::reshape(ops::concat(parts, 0), Shape(extents));
}

ops::LinearCrossEntropy SoftmaxLayer::cross_entropy(const Tensor& h, const Tensor& labels,
                                                    const Tensor& row_weights,
                                                    const ops::CrossEntropyOptions& extras) const {
  if (clip_ > 0) {
    const Tensor rows = ops::softmax_cross_entropy(capped_logits(h), labels, extras);
    return {ops::sum(ops::mul(rows, ops::stop_gradient(row_weights))), ops::stop_gradient(rows)};
  }
  Tensor x = h, w = this->weights();
  if (bias_ != nullptr) {
    // Appends the bias as a row of weights, for an input that is always 1.
    std::vector<std::int64_t> extents(x.shape().begin(), x.shape().end());
    extents.back() = 1;
    x = ops::concat(std::vector<Tensor>{x, Tensor::full(x.device(), Shape(extents), 1)}, -1);
    const Shape row = transposed_ ? Shape{num_classes_, 1} : Shape{1, num_classes_};
    w = ops::concat(std::vector<Tensor>{w, ops::reshape(bias_->value(), row)}, 1 - class_dim());
  }
  const ops::LinearCrossEntropyOptions options{
      .transpose_w = transposed_, .loss = extras, .softcap = softcap_};
  if (!axis_.is_split()) return ops::linear_cross_entropy(x, w, labels, row_weights, options);
  return ops::linear_cross_entropy(x, ops::split_blocks(w, class_dim(), axis_), labels, row_weights,
                                   options, axis_);
}

SoftmaxLoss SoftmaxLayer::loss(const Tensor& h, const Tensor& labels, const Tensor& weights,
                               FpropContext& context, const SoftmaxLossOptions& options) {
  const Tensor input = scaled(h);
  const ops::CrossEntropyOptions extras{
      .label_smoothing = context.train || smooth_evaluation_ ? smoothing_ : 0,
      .z_loss = context.train ? z_loss_ : 0};
  const ops::LinearCrossEntropy head = cross_entropy(input, labels, weights, extras);
  SoftmaxLoss out;
  out.total_xent = head.loss;
  out.per_example_xent = head.per_row;
  {
    NoGrad no_grad;
    out.total_weight = ops::sum(weights);
  }
  out.avg_xent = average(out.total_xent, out.total_weight);
  if (options.argmax) out.per_example_argmax = argmax(input);
  return out;
}

Tensor SoftmaxLayer::fprop(const Tensor& x, FpropContext& context) {
  return x.dtype() == DType::i32 && has_embedding() ? emb_lookup(x, context) : logits(x, context);
}

const void* SoftmaxLayer::extension(std::string_view id) const noexcept {
  if (id == kLayerLocalInTime) return this;
  return id == kLayerSoftmaxHead ? static_cast<const SoftmaxHead*>(this) : nullptr;
}

FullSoftmax::FullSoftmax(const Config& config, Scope& scope)
    : SoftmaxLayer(
          "nn/FullSoftmax", config, config.has_bias, scope,
          scope.parameter("w", sized("nn/FullSoftmax", config, scope),
                          {.init = config.init,
                           .blocks = blocks_of(config.weight_split_dims_mapping.wt,
                                               sized("nn/FullSoftmax", config, scope), 1, scope)}),
          Weights::by_input) {}

Tensor FullSoftmax::emb_lookup(const Tensor&, FpropContext&) {
  throw Error("[nn/FullSoftmax] '" + path() + "': has no embedding",
              {.hint = "use nn/SharedEmbeddingSoftmax, or add an nn/Embedding"});
}

SharedEmbeddingSoftmax::SharedEmbeddingSoftmax(const Config& config, Scope& scope)
    : SoftmaxLayer(
          "nn/SharedEmbeddingSoftmax", config, config.has_bias, scope,
          scope.parameter(
              "table", transposed(sized("nn/SharedEmbeddingSoftmax", config, scope)),
              {.init = config.init,
               .fallback = {Init::normal, 1 / root(config.input_dims)},
               .blocks = blocks_of(config.weight_split_dims_mapping.wt,
                                   sized("nn/SharedEmbeddingSoftmax", config, scope), 1, scope)}),
          Weights::by_class),
      lookup_scale_(config.scale_sqrt_depth ? static_cast<float>(root(config.input_dims)) : 1) {}

Tensor SharedEmbeddingSoftmax::emb_lookup(const Tensor& ids, FpropContext&) {
  if (ids.dtype() != DType::i32) wrong_input(type(), path(), "ids of type i32", ids);
  const Tensor rows = ops::gather_rows(weights(), ids);
  return lookup_scale_ == 1 ? rows : ops::mul(rows, lookup_scale_);
}

}  // namespace trivet::nn
