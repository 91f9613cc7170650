// SPDX-License-Identifier: Apache-2.0
#include "lm/models/transformer_parts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "trivet/error.h"
#include "trivet/layer/layer_template.h"

namespace trivet::lm {
namespace {

constexpr const char* kTrainablePositions = "nn/TrainablePositionalEmbedding";
// The default of max_seq_length.
constexpr std::int64_t kTablePositions = 10240;

void complete_init(ConfigOf<Layer>& layer, const InitConfig& init) {
  complete(layer, "init", encode(init), encode(InitConfig()));
}

ConfigOf<Layer> block_of(ConfigOf<Layer> block, const TransformerConfig& config, BlockSight sight) {
  complete(block, "input_dims", config.model_dims, 0);
  complete(block, "hidden_dims", config.hidden_dims, 0);
  complete(block, "num_heads", config.num_heads, 0);
  complete(block, "num_kv_heads", config.num_kv_heads, 0);
  complete(block, "dropout", config.dropout, 0.0);
  complete(block, "causal", sight.causal, false);
  complete(block, "cross_attention", sight.cross_attention, false);
  complete_init(block, config.init);
  return block;
}

Tensor optional_of(const Batch& batch, std::string_view name) {
  const Tensor* tensor = batch.find(name);
  return tensor != nullptr ? *tensor : Tensor();
}

}  // namespace

void TransformerConfig::validate(Diagnostics& diagnostics) const {
  if (num_kv_heads > 0 && num_heads % num_kv_heads != 0) {
    diagnostics.add("num_kv_heads",
                    "is " + std::to_string(num_kv_heads) +
                        ", which does not divide num_heads = " + std::to_string(num_heads));
  }
  if (!stacked_transformer_tpl) {
    diagnostics.add("stacked_transformer_tpl", "is \"none\", but a transformer needs blocks");
  }
}

ConfigOf<Layer> stack_of(const TransformerConfig& config, std::int64_t num_layers,
                         BlockSight sight) {
  constexpr const char* kBlock = "transformer_layer_params_tpl";
  ConfigOf<Layer> stack = config.stacked_transformer_tpl;
  if (!stack) throw Error("a transformer needs a stacked_transformer_tpl");
  complete(stack, kBlock, config.block_tpl.to_value(), Value());
  if (const Value* block = stack.fields().find(kBlock)) {
    const ConfigOf<Layer> own(ConfigValue::from_value(*block, Layer::kKind, "block"));
    Value fields = stack.fields();
    fields.set(kBlock, block_of(own, config, sight).to_value());
    stack = {std::string(stack.key()), std::move(fields)};
  }
  complete(stack, "num_layers", num_layers, 0);
  complete(stack, "input_dropout_prob", config.dropout, 0.0);
  return stack;
}

ConfigOf<Layer> table_of(ConfigOf<Layer> layer, std::int64_t num_classes,
                         const TransformerConfig& config) {
  if (!layer) return layer;
  complete(layer, "num_classes", num_classes, 0);
  complete(layer, "input_dims", config.model_dims, 0);
  complete_init(layer, config.init);
  return layer;
}

ConfigOf<Layer> positions_of(ConfigOf<Layer> layer, const TransformerConfig& config) {
  if (!layer) return layer;
  complete(layer, "input_dims", config.model_dims, 0);
  if (layer.key() == kTrainablePositions && config.max_seq_len > 0) {
    complete(layer, "max_seq_length", config.max_seq_len, kTablePositions);
  }
  return layer;
}

ConfigOf<Layer> norm_of(ConfigOf<Layer> layer, const TransformerConfig& config) {
  if (layer) complete(layer, "dim", config.model_dims, 0);
  return layer;
}

ConfigOf<Layer> linear_of(std::int64_t input_dims, std::int64_t output_dims,
                          const Value& activation, const InitConfig& init) {
  return {"nn/Linear", Value::table({{"input_dims", input_dims},
                                     {"output_dims", output_dims},
                                     {"activation", activation},
                                     {"init", encode(init)}})};
}

ConfigOf<Layer> dropout_of(double rate) {
  if (rate == 0) return {};
  return {"nn/Dropout", Value::table({{"rate", rate}})};
}

std::int64_t longest_of(const TransformerConfig& config, const ConfigOf<Layer>& positions) {
  const Value* given = positions.fields().find("max_seq_length");
  std::int64_t most = positions.key() == kTrainablePositions ? kTablePositions : 0;
  if (given != nullptr) most = given->as_integer();
  if (config.max_seq_len == 0 || most == 0) return std::max(config.max_seq_len, most);
  return std::min(config.max_seq_len, most);
}

void check_vocabulary(const TransformerConfig& config) {
  if (config.vocab_size > 0) return;
  throw ConfigError(Diagnostic{.path = "task.model.vocab_size",
                               .what = "is 0, and the task has no tokenizer to take it from",
                               .hint = "set task.tokenizer, or the number of tokens"});
}

void check_ids(const char* model, const Tensor& ids, std::int64_t longest) {
  if (ids.rank() != 2 || ids.dtype() != DType::i32) {
    throw Error(std::string(model) + ": expected ids i32 [B, T], got " + ids.to_string());
  }
  if (longest > 0 && ids.dim(1) > longest) {
    throw Error(std::string(model) + ": a sequence of " + std::to_string(ids.dim(1)) +
                    " tokens, and max_seq_len is " + std::to_string(longest),
                {.hint = "make the input's seq_len smaller or max_seq_len larger"});
  }
}

void set_sequence_context(FpropContext& context, const Batch& batch) {
  context.positions = optional_of(batch, "segment_pos");
  context.segment_ids = optional_of(batch, "segment_ids");
  context.paddings = optional_of(batch, "paddings");
  context.task_ids = optional_of(batch, "task_ids");
}

}  // namespace trivet::lm
