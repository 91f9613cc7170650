// SPDX-License-Identifier: Apache-2.0
#include "lm/models/transformer_parts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "trivet/error.h"
#include "trivet/layer/layer_template.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/mesh.h"

namespace trivet::lm {
namespace {

constexpr const char* kTrainablePositions = "nn/TrainablePositionalEmbedding";
constexpr const char* kMapping = "weight_split_dims_mapping";
constexpr const char* kSharding = "task.model.sharding";
// The default of max_seq_length.
constexpr std::int64_t kTablePositions = 10240;

void complete_init(ConfigOf<Layer>& layer, const InitConfig& init) {
  complete(layer, "init", encode(init), encode(InitConfig()));
}

// Whether the layer has a mapping with these members.
bool has_mapping(const ConfigOf<Layer>& layer, std::initializer_list<const char*> members) {
  if (!layer) return false;
  const Field* field = registry().get(Layer::kKind, layer.key()).schema().find(kMapping);
  return field != nullptr && std::ranges::all_of(members, [&](const char* member) {
           return std::ranges::find(field->type.fields, member, &Field::name) !=
                  field->type.fields.end();
         });
}

// [a, b, ..] with two entries exchanged.
Value exchanged(const Value& dims, std::size_t a, std::size_t b) {
  std::vector<Value> list(dims.items().begin(), dims.items().end());
  if (!list.empty()) std::swap(list[a], list[b]);
  Value out = Value::array();
  for (Value& dim : list) out.push_back(std::move(dim));
  return out;
}

// Fills the sharding into a block that has nn/TransformerBlock's mapping.
void complete_splits(ConfigOf<Layer>& block, const ShardingConfig& sharding) {
  if (sharding.w_df.empty() && sharding.w_fd.empty() && sharding.w_dnh.empty()) return;
  const ShardingConfig plain;
  if (has_mapping(block, {"proj", "ffn0", "ffn1"})) {
    const Value own = encode(sharding);
    complete_members(block, kMapping,
                     Value::table({{"proj", *own.find("w_dnh")},
                                   {"ffn0", *own.find("w_df")},
                                   {"ffn1", *own.find("w_fd")}}));
  } else if (sharding.w_df != plain.w_df || sharding.w_fd != plain.w_fd ||
             sharding.w_dnh != plain.w_dnh) {
    throw ConfigError(Diagnostic{
        .path = kSharding,
        .what = "is not used: the blocks, " + std::string(block.key()) + ", split no weights",
        .hint = "remove it"});
  }
}

// Fills the sharding into the experts of this field of a block or stack, if it has such.
bool complete_experts(ConfigOf<Layer>& layer, const char* field, const ShardingConfig& sharding) {
  const Value* given = layer.fields().find(field);
  if (given == nullptr) return false;
  ConfigOf<Layer> experts(ConfigValue::from_value(*given, Layer::kKind, field));
  if (!has_mapping(experts, {"emh", "ehm"})) return false;
  const Value own = encode(sharding), &emh = *own.find("w_emh");
  complete_members(experts, kMapping, Value::table({{"emh", emh}, {"ehm", exchanged(emh, 1, 2)}}));
  Value fields = layer.fields();
  fields.set(field, experts.to_value());
  layer = {std::string(layer.key()), std::move(fields)};
  return true;
}

ConfigOf<Layer> block_of(ConfigOf<Layer> block, const TransformerConfig& config, BlockSight sight,
                         const ShardingConfig* sharding) {
  complete(block, "input_dims", config.model_dims, 0);
  complete(block, "hidden_dims", config.hidden_dims, 0);
  complete(block, "num_heads", config.num_heads, 0);
  complete(block, "num_kv_heads", config.num_kv_heads, 0);
  complete(block, "dropout", config.dropout, 0.0);
  complete(block, "causal", sight.causal, false);
  complete(block, "cross_attention", sight.cross_attention, false);
  complete_init(block, config.init);
  if (sharding != nullptr && block) complete_splits(block, *sharding);
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

void ShardingConfig::validate(Diagnostics& diagnostics) const {
  w_df.check_rank(2, "w_df", diagnostics);
  w_fd.check_rank(2, "w_fd", diagnostics);
  w_dnh.check_rank(3, "w_dnh", diagnostics);
  w_vd.check_rank(2, "w_vd", diagnostics);
  w_emh.check_rank(3, "w_emh", diagnostics);
}

namespace {

// Throws ConfigError where mdl splits another dimension than this one.
void check_only(const char* key, const SplitDims& dims, std::size_t dim, const char* what,
                const Mesh& mesh) {
  const std::string path = kSharding + ("." + std::string(key));
  const std::optional<std::size_t> found = dims.dim_over("mdl", mesh, path);
  if (!found || *found == dim) return;
  throw ConfigError(Diagnostic{.path = path,
                               .what = "names mdl in entry " + std::to_string(*found) +
                                       ", but it splits " + std::string(what) + " only",
                               .hint = "name it in entry " + std::to_string(dim) + ", or nowhere"});
}

}  // namespace

void check_sharding(const ShardingConfig& sharding, const TransformerConfig& config,
                    const Mesh& mesh) {
  const std::int64_t devices = mesh.axis("mdl").extent();
  if (devices == 1) return;
  struct Size {
    const char* field;
    std::int64_t extent;
  };
  const auto check = [&](const char* key, const SplitDims& dims,
                         std::initializer_list<Size> sizes) {
    const std::string path = kSharding + ("." + std::string(key));
    const std::optional<std::size_t> dim = dims.dim_over("mdl", mesh, path);
    if (!dim || dims.dims[*dim].where_it_divides) return;
    const Size& size = sizes.begin()[*dim];
    if (size.extent == 0 || size.extent % devices == 0) return;
    throw ConfigError(Diagnostic{
        .path = path,
        .what = "splits " + std::string(size.field) + " = " + std::to_string(size.extent) +
                " over the " + std::to_string(devices) +
                " devices along mdl, which do not divide it",
        .hint = "change one of the two numbers; \"mdl?\" leaves whole what does not divide"});
  };
  const Size d{"model_dims", config.model_dims};
  const Size f{"hidden_dims", config.hidden_dims > 0 ? config.hidden_dims : 4 * config.model_dims};
  check("w_df", sharding.w_df, {d, f});
  check("w_fd", sharding.w_fd, {f, d});
  check("w_dnh", sharding.w_dnh, {d, {"num_heads", config.num_heads}, {"dims_per_head", 0}});
  check_only("w_vd", sharding.w_vd, 0, "the vocabulary", mesh);
  check("w_vd", sharding.w_vd, {{"vocab_size", config.vocab_size}, d});
  check_only("w_emh", sharding.w_emh, 2, "the hidden_dims of experts", mesh);
}

ConfigOf<Layer> stack_of(const TransformerConfig& config, std::int64_t num_layers, BlockSight sight,
                         const ShardingConfig* sharding) {
  constexpr const char* kBlock = "transformer_layer_params_tpl";
  ConfigOf<Layer> stack = config.stacked_transformer_tpl;
  if (!stack) throw Error("a transformer needs a stacked_transformer_tpl");
  bool has_experts = sharding != nullptr && complete_experts(stack, "moe_layer_tpl", *sharding);
  complete(stack, kBlock, config.block_tpl.to_value(), Value());
  if (const Value* block = stack.fields().find(kBlock)) {
    ConfigOf<Layer> own(ConfigValue::from_value(*block, Layer::kKind, "block"));
    if (sharding != nullptr && complete_experts(own, "ffn_tpl", *sharding)) has_experts = true;
    Value fields = stack.fields();
    fields.set(kBlock, block_of(own, config, sight, sharding).to_value());
    stack = {std::string(stack.key()), std::move(fields)};
  }
  if (sharding != nullptr && !has_experts && sharding->w_emh != ShardingConfig().w_emh) {
    throw ConfigError(Diagnostic{.path = kSharding + std::string(".w_emh"),
                                 .what = "is not used: no layer has experts that can be split",
                                 .hint = "remove it, or use nn/MoeFeedForward"});
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

bool splits_vocabulary(const ConfigOf<Layer>& table) {
  return has_mapping(table, {"wt"});
}

ConfigOf<Layer> with_vocabulary_split(ConfigOf<Layer> table, const ShardingConfig& sharding) {
  if (!splits_vocabulary(table)) return table;
  // As in Praxis, a softmax has [d, v], but for that of GShard.
  const bool is_softmax =
      table.key() == "nn/FullSoftmax" || table.key() == "nn/SharedEmbeddingSoftmax";
  const Value own = encode(sharding), &w_vd = *own.find("w_vd");
  complete_members(table, kMapping,
                   Value::table({{"wt", is_softmax ? exchanged(w_vd, 0, 1) : w_vd}}));
  return table;
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
