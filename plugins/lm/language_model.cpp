// SPDX-License-Identifier: Apache-2.0
#include "language_model.h"

#include <algorithm>
#include <utility>

#include "templates.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::lm {
namespace {

// The default of nn/TrainablePositionalEmbedding's max_seq_length.
constexpr std::int64_t kTablePlaces = 10240;

ConfigOf<Layer> completed_block(ConfigOf<Layer> block, const LanguageModelConfig& config) {
  complete(block, "input_dims", config.model_dims);
  complete(block, "hidden_dims", config.hidden_dims);
  complete(block, "num_heads", config.num_heads);
  complete(block, "num_kv_heads", config.num_kv_heads);
  complete(block, "dropout", config.dropout);
  complete(block, "causal", config.model_type != ModelType::bidirectional);
  if (config.init.method != Init::layer_default) complete(block, "init", encode(config.init));
  return block;
}

ConfigOf<Layer> stack_of(const LanguageModelConfig& config) {
  constexpr const char* kBlock = "transformer_layer_params_tpl";
  ConfigOf<Layer> stack = config.stacked_transformer_tpl;
  const Value* own = stack.fields().find(kBlock);
  const bool has_own = own != nullptr && !own->is_null() && *own != Value("none");
  const ConfigOf<Layer> block =
      has_own ? ConfigOf<Layer>(ConfigValue::from_value(*own, Layer::kKind, "block"))
              : config.block_tpl;
  Value fields = stack.fields();
  fields.set(kBlock, completed_block(block, config).to_value());
  stack = {std::string(stack.key()), std::move(fields)};
  complete(stack, "num_layers", config.num_layers);
  complete(stack, "input_dropout_prob", config.dropout);
  return stack;
}

ConfigOf<Layer> table_of(ConfigOf<Layer> layer, const LanguageModelConfig& config) {
  if (!layer) return layer;
  complete(layer, "num_classes", config.vocab_size);
  complete(layer, "input_dims", config.model_dims);
  if (config.init.method != Init::layer_default) complete(layer, "init", encode(config.init));
  return layer;
}

ConfigOf<Layer> positions_of(const LanguageModelConfig& config) {
  ConfigOf<Layer> layer = config.position_emb_tpl;
  if (!layer) return layer;
  complete(layer, "input_dims", config.model_dims);
  if (layer.key() == "nn/TrainablePositionalEmbedding") {
    const std::int64_t places = config.max_seq_len > 0 ? config.max_seq_len : kTablePlaces;
    complete(layer, "max_seq_length", places, kTablePlaces);
  }
  return layer;
}

ConfigOf<Layer> norm_of(const LanguageModelConfig& config) {
  ConfigOf<Layer> layer = config.final_norm_tpl;
  if (layer) complete(layer, "dim", config.model_dims);
  return layer;
}

// 0: any.
std::int64_t longest_of(const LanguageModelConfig& config) {
  const ConfigOf<Layer> positions = positions_of(config);
  const Value* places = positions.fields().find("max_seq_length");
  const std::int64_t most = places != nullptr ? places->as_integer() : 0;
  if (config.max_seq_len == 0 || most == 0) return std::max(config.max_seq_len, most);
  return std::min(config.max_seq_len, most);
}

// The batch's tensor, or an undefined one.
Tensor optional_of(const Batch& batch, std::string_view name) {
  const Tensor* tensor = batch.find(name);
  return tensor != nullptr ? *tensor : Tensor();
}

}  // namespace

void LanguageModelConfig::validate(Problems& problems) const {
  if (num_kv_heads > 0 && num_heads % num_kv_heads != 0) {
    problems.add("num_kv_heads",
                 "is " + std::to_string(num_kv_heads) +
                     ", which does not divide num_heads = " + std::to_string(num_heads));
  }
}

LanguageModel::LanguageModel(const Config& config, Scope& scope)
    : model_type_(config.model_type), max_seq_len_(longest_of(config)) {
  if (config.vocab_size == 0) {
    throw ConfigError(Problem{.path = "task.model.vocab_size",
                              .what = "is 0, and the task has no tokenizer to take it from",
                              .hint = "set task.tokenizer, or the number of tokens"});
  }
  embedding_ = scope.layer("embedding", table_of(config.embedding_tpl, config));
  position_emb_ = scope.layer("position_emb", positions_of(config));
  transformer_ = scope.layer("transformer", stack_of(config));
  if (!transformer_) throw Error("lm/LanguageModel: it needs a stacked_transformer_tpl");
  final_norm_ = scope.layer("final_norm", norm_of(config));
  softmax_ = scope.layer("softmax", table_of(config.softmax_tpl, config));
  if (!softmax_) throw Error("lm/LanguageModel: it needs a softmax");
  head_ = &softmax_head(*softmax_, "softmax");
  if (!embedding_ && !head_->has_embedding()) {
    throw Error("lm/LanguageModel: '" + std::string(config.softmax_tpl.key()) +
                    "' has no table of embeddings",
                {.hint = "set embedding_tpl = \"nn/Embedding\""});
  }
}

const void* LanguageModel::extension(std::string_view id) const noexcept {
  if (id == kModelNextToken && model_type_ != ModelType::bidirectional) {
    return static_cast<const NextToken*>(this);
  }
  return Model::extension(id);
}

void LanguageModel::check_ids(const Tensor& ids) const {
  if (ids.rank() != 2 || ids.dtype() != DType::i32) {
    throw Error("lm/LanguageModel: expected ids i32 [B, T], got " + ids.to_string());
  }
  if (max_seq_len_ > 0 && ids.dim(1) > max_seq_len_) {
    throw Error("lm/LanguageModel: a sequence of " + std::to_string(ids.dim(1)) +
                    " tokens, and max_seq_len is " + std::to_string(max_seq_len_),
                {.hint = "make the input's seq_len smaller or max_seq_len larger"});
  }
}

// `caches` is null, or of the layers below in their order.
Tensor LanguageModel::hidden(const Tensor& ids, LayerCaches* caches, FpropContext& context) const {
  Tensor x = embedding_ ? embedding_->fprop(ids, context) : head_->emb_lookup(ids, context);
  std::size_t place = 0;
  for (Layer* layer : layers()) {
    LayerCache* cache = caches != nullptr ? caches->at(place++) : nullptr;
    if (layer == nullptr) continue;
    x = caches != nullptr ? extend_step(*layer, x, cache, context) : layer->fprop(x, context);
  }
  return x;
}

NestedMap LanguageModel::fprop(const Batch& batch, FpropContext& context) {
  const Tensor& ids = batch.at("ids");
  check_ids(ids);
  context.positions = optional_of(batch, "segment_pos");
  context.segment_ids = optional_of(batch, "segment_ids");
  context.paddings = optional_of(batch, "paddings");
  if (model_type_ == ModelType::prefix) {
    context.inputs_indicator = ops::cast(batch.at("inputs_indicator"), DType::f32);
  }
  const Tensor h = hidden(ids, nullptr, context);
  if (!batch.contains("labels")) return {{"logits", head_->logits(h, context)}};
  const SoftmaxLoss loss =
      head_->loss(h, batch.at("labels"), batch.at("weights"), context, {.argmax = !context.train});
  NestedMap outputs = {{"avg_xent", loss.avg_xent},
                       {"total_weight", loss.total_weight},
                       {"per_example_xent", loss.per_example_xent}};
  if (!context.train) outputs.set("per_example_argmax", loss.per_example_argmax);
  return outputs;
}

std::unique_ptr<LayerCache> LanguageModel::make_cache(std::int64_t batch,
                                                      std::int64_t max_length) const {
  auto caches = std::make_unique<LayerCaches>();
  try {
    for (const Layer* layer : layers()) caches->add(layer, "a layer", batch, max_length);
  } catch (const Error&) {
    return nullptr;  // a layer cannot go on from where it was
  }
  return caches;
}

Tensor LanguageModel::next_logits(const Tensor& ids, LayerCache* cache,
                                  FpropContext& context) const {
  const NoGrad no_grad;
  check_ids(ids);
  const Tensor h = hidden(ids, static_cast<LayerCaches*>(cache), context);
  const std::int64_t length = h.dim(1);
  const Tensor last = ops::contiguous(ops::slice(h, 1, length - 1, length));
  return head_->logits(ops::reshape(last, {h.dim(0), h.dim(2)}), context);
}

}  // namespace trivet::lm
