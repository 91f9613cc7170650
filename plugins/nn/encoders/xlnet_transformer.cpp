// SPDX-License-Identifier: Apache-2.0
#include "nn/encoders/xlnet_transformer.h"

#include "nn/basic/checks.h"
#include "nn/basic/templates.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

constexpr const char* kXlnetTransformer = "nn/XlnetTransformer";

std::int64_t integer_of(const ConfigOf<Layer>& block, const char* field) {
  const Value* value = block.fields().find(field);
  return value != nullptr && value->is_integer() ? value->as_integer() : 0;
}

}  // namespace

void XlnetTransformerConfig::validate(Diagnostics& diagnostics) const {
  if (use_cls_mask && !segment_encoding) {
    diagnostics.add("use_cls_mask", "is not used without segment_encoding");
  }
}

XlnetTransformer::XlnetTransformer(const Config& config, Scope& scope)
    : path_(scope.path()),
      rules_{.causal = config.attention_type == AttentionType::uni,
             .use_cls_mask = config.use_cls_mask,
             .clamp_length = config.clamp_length},
      dropout_(scope.layer("input_dropout", dropout(config.input_dropout_prob))),
      position_dropout_(scope.layer("position_dropout", dropout(config.input_dropout_prob))) {
  ConfigOf<Layer> block = config.transformer_layer_params_tpl;
  if (!block || block.key() != "nn/XlnetBlock") {
    refuse_block(kXlnetTransformer, path_, "nn/XlnetBlock", block);
  }
  input_dims_ = expect_set(kXlnetTransformer, path_, "input_dims of its block",
                           integer_of(block, "input_dims"));
  const std::int64_t heads = integer_of(block, "num_heads");
  std::int64_t head_dims = integer_of(block, "dims_per_head");
  if (head_dims == 0 && heads > 0) head_dims = input_dims_ / heads;
  const InitConfig init{Init::normal, kXlnetBiasDeviation};
  if (config.two_stream) {
    mask_emb_ = &scope.parameter("mask_emb", {input_dims_}, {.init = init});
  }
  if (config.tie_attention_biases) {
    expect_set(kXlnetTransformer, path_, "num_heads of its block", heads);
    biases_ = std::make_unique<XlnetBiases>(heads, head_dims, config.segment_encoding, scope);
    complete(block, "has_attention_biases", false, true);
  }
  if (!config.segment_encoding) complete(block, "has_segment_encoding", false, true);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    layers_.push_back(scope.layer("layer_" + std::to_string(i), block));
    blocks_.push_back(
        static_cast<const XlnetBlock*>(layers_.back()->extension(kXlnetBlockExtension)));
  }
}

void XlnetTransformer::check(const Tensor& x, const TokenFields& fields) const {
  if (x.rank() != 3 || x.dim(2) != input_dims_) {
    wrong_input(kXlnetTransformer, path_, "[B, T, " + std::to_string(input_dims_) + "]", x);
  }
  const Tensor& permutation = fields.permutation;
  if (mask_emb_ != nullptr && !permutation.defined()) {
    throw Error(
        "[nn/XlnetTransformer] '" + path_ + "' has two_stream, but the batch has no permutation",
        {.hint = "set permutation.enabled = true in data/MaskedLanguageModel; set "
                 "two_stream = false for other tasks"});
  }
  if (mask_emb_ == nullptr && permutation.defined()) {
    throw Error("[nn/XlnetTransformer] '" + path_ +
                    "': the batch has a permutation, but there is no stream that predicts it",
                {.hint = "set two_stream = true"});
  }
  for (const Tensor& field : {fields.token_types, permutation}) {
    if (!field.defined() || field.shape() == Shape{x.dim(0), x.dim(1)}) continue;
    wrong_input(kXlnetTransformer, path_,
                "token_type_ids and permutation [" + std::to_string(x.dim(0)) + ", " +
                    std::to_string(x.dim(1)) + "]",
                field);
  }
}

Tensor XlnetTransformer::fprop(const Tensor& x, const TokenFields& fields, FpropContext& context) {
  check(x, fields);
  const auto through = [&](const std::shared_ptr<Layer>& layer, const Tensor& of) {
    return layer ? layer->fprop(of, context) : of;
  };
  XlnetSight sight = xlnet_sight(x, fields, rules_, context);
  sight.sines = through(position_dropout_, sight.sines);
  Tensor y = x;
  if (mask_emb_ != nullptr) {
    const Tensor masked = predicted_positions(fields.permutation);
    const Tensor others = ops::mul(x, ops::add(ops::neg(masked), 1.0F));
    const Tensor parts[] = {x, ops::add(others, ops::mul(masked, mask_emb_->value()))};
    y = ops::concat(parts, 0);
  }
  y = through(dropout_, y);
  for (const XlnetBlock* block : blocks_) y = block->fprop(y, sight, biases_.get(), context);
  return mask_emb_ != nullptr ? ops::slice(y, 0, x.dim(0), 2 * x.dim(0)) : y;
}

Tensor XlnetTransformer::fprop(const Tensor& x, FpropContext& context) {
  return fprop(x, {}, context);
}

const void* XlnetTransformer::extension(std::string_view id) const noexcept {
  if (id == kLayerTokenFields) return static_cast<const TokenFieldsReader*>(this);
  return Layer::extension(id);
}

}  // namespace trivet::nn
