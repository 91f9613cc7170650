// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/transformer_block.h"

#include "nn/activation/activations.h"
#include "nn/attention/feed_forward.h"
#include "nn/attention/multi_head_attention.h"
#include "nn/attention/task_adapter.h"
#include "nn/basic/templates.h"
#include "trivet/ops.h"
#include "trivet/plugin/registry.h"

namespace trivet::nn {
namespace {

constexpr const char* kAttention = "nn/MultiHeadAttention";

// Whether it is set to something else than the block's default, which recorded configs write out.
bool is_other_activation(const ConfigOf<Layer>& activation) {
  const ConfigOf<Layer> usual = TransformerBlockConfig().activation;
  return activation.key() != usual.key() ||
         !equal(activation.decode_as<GeluConfig>(), usual.decode_as<GeluConfig>());
}

// Copies the block's value into the template's field, unless it has its default.
template <class Config>
void hand_on(ConfigOf<Layer>& layer, const char* field, const Config& own) {
  complete(layer, field, encode(own), encode(Config()));
}

// Layers without the field, such as experts, have no LoRA, even in a block with LoRA; and mixing
// layers have no heads.
bool has_field(const ConfigOf<Layer>& layer, std::string_view field) {
  return registry().get(Layer::kKind, layer.key()).schema().find(field) != nullptr;
}

void hand_on_lora(ConfigOf<Layer>& layer, const LoraConfig& lora) {
  if (has_field(layer, "lora")) hand_on(layer, "lora", lora);
}

// Layers whose mapping has other members keep theirs.
template <class Splits>
void hand_on_splits(ConfigOf<Layer>& layer, const Splits& splits) {
  constexpr const char* kField = "weight_split_dims_mapping";
  const Field* mapping = registry().get(Layer::kKind, layer.key()).schema().find(kField);
  if (mapping == nullptr || mapping->type.struct_name != schema_of<Splits>().name) return;
  complete_members(layer, kField, encode(splits));
}

FeedForwardSplitConfig ffn_splits(const TransformerBlockConfig& config) {
  return {config.weight_split_dims_mapping.ffn0, config.weight_split_dims_mapping.ffn1};
}

// Fields that both attentions inherit from the block.
void complete_attention(ConfigOf<Layer>& layer, const TransformerBlockConfig& config) {
  complete(layer, "input_dims", config.input_dims, 0);
  hand_on_lora(layer, config.lora);
  hand_on_splits(layer, AttentionSplitConfig{config.weight_split_dims_mapping.proj});
  if (!has_field(layer, "num_heads")) return;
  complete(layer, "num_heads", config.num_heads, 0);
  if (config.num_kv_heads > 0) complete(layer, "num_kv_heads", config.num_kv_heads, 0);
  if (!config.has_bias) complete(layer, "has_bias", false, true);
  if (config.atten_dropout > 0) complete(layer, "atten_dropout", config.atten_dropout, 0.0);
  hand_on(layer, "init", config.init);
  hand_on(layer, "output_init", config.output_init);
}

ConfigOf<Layer> self_attention(const TransformerBlockConfig& config) {
  ConfigOf<Layer> layer = config.attention_tpl;
  complete_attention(layer, config);
  if (config.causal) complete(layer, "causal", true, false);
  return layer;
}

ConfigOf<Layer> cross_attention(const TransformerBlockConfig& config) {
  ConfigOf<Layer> layer(kAttention, Value::table({{"cross_attention", true}}));
  complete_attention(layer, config);
  return layer;
}

std::shared_ptr<Layer> feed_forward(const TransformerBlockConfig& config, Scope& scope) {
  const double between = config.relu_dropout.value_or(config.dropout);
  if (config.ffn_tpl) {
    ConfigOf<Layer> layer = config.ffn_tpl;
    if (has_field(layer, "input_dims")) complete(layer, "input_dims", config.input_dims, 0);
    if (config.hidden_dims > 0) complete(layer, "hidden_dims", config.hidden_dims, 0);
    if (between > 0 && has_field(layer, "relu_dropout")) {
      complete(layer, "relu_dropout", between, 0.0);
    }
    hand_on_lora(layer, config.lora);
    hand_on_splits(layer, ffn_splits(config));
    return scope.layer("feed_forward", layer);
  }
  FeedForwardConfig mlp;
  mlp.input_dims = config.input_dims;
  mlp.hidden_dims = config.hidden_dims;
  mlp.activation = config.activation;
  mlp.use_gated_activation = config.use_gated_activation;
  mlp.has_bias = config.has_bias;
  mlp.relu_dropout = between;
  mlp.init = config.init;
  mlp.output_init = config.output_init;
  mlp.lora = config.lora;
  mlp.weight_split_dims_mapping = ffn_splits(config);
  return std::make_shared<FeedForward>(mlp, scope, "mlp_");
}

std::shared_ptr<Layer> adapter(const TransformerBlockConfig& config, Scope& scope) {
  if (config.adapter_tasks > 0) {
    const TaskAdapter::Options options{.input_dims = config.input_dims,
                                       .dims = config.adapter_dims,
                                       .tasks = config.adapter_tasks,
                                       .task_id = config.adapter_task_id};
    return std::make_shared<TaskAdapter>(options, scope, "adapter_");
  }
  FeedForwardConfig adapter;
  adapter.input_dims = config.input_dims;
  adapter.hidden_dims = config.adapter_dims;
  adapter.activation = "nn/Relu";
  adapter.output_init = {Init::constant, 0};
  return std::make_shared<FeedForward>(adapter, scope, "adapter_");
}

}  // namespace

void TransformerBlockConfig::validate(Diagnostics& diagnostics) const {
  if (!attention_tpl) {
    diagnostics.add("attention_tpl", "is \"none\", but a block needs one");
  } else if (causal && !has_field(attention_tpl, "causal")) {
    diagnostics.add("attention_tpl",
                    "is " + std::string(attention_tpl.key()) + ", which cannot be causal",
                    "layers without causal are for encoders, e.g. lm/Bert");
  }
  const auto needs = [&](const ConfigOf<Layer>& layer, const char* field, bool is_set) {
    if (!layer || !is_set || has_field(layer, field)) return;
    diagnostics.add(field, "is not used: " + std::string(layer.key()) + " has no such field",
                    "remove it");
  };
  needs(attention_tpl, "atten_dropout", atten_dropout > 0);
  needs(attention_tpl, "num_kv_heads", num_kv_heads > 0);
  needs(ffn_tpl, "hidden_dims", hidden_dims > 0);
  needs(ffn_tpl, "relu_dropout", relu_dropout.value_or(0) > 0);
  const auto of_mlp = [&](const char* field, bool is_set) {
    if (!ffn_tpl || !is_set) return;
    const std::string layer(ffn_tpl.key());
    diagnostics.add(field, "has no effect: ffn_tpl, " + layer + ", is instead of the Mlp",
                    has_field(ffn_tpl, field) ? "set it in ffn_tpl" : "remove it");
  };
  of_mlp("activation", is_other_activation(activation));
  of_mlp("use_gated_activation", use_gated_activation);
  if (adapter_tasks > 0 && adapter_dims == 0) {
    diagnostics.add("adapter_tasks", "has no effect without adapter_dims",
                    "set adapter_dims, the depth of each adapter");
  }
  if (adapter_task_id && *adapter_task_id >= adapter_tasks) {
    diagnostics.add("adapter_task_id", adapter_tasks == 0
                                           ? "has no effect without adapter_tasks"
                                           : "is " + std::to_string(*adapter_task_id) +
                                                 ", and the last task of adapter_tasks is " +
                                                 std::to_string(adapter_tasks - 1));
  }
  MultiHeadAttentionConfig attention;
  attention.input_dims = input_dims;
  attention.num_heads = num_heads;
  attention.num_kv_heads = num_kv_heads;
  const Value* own_dims = attention_tpl.fields().find("dims_per_head");
  if (own_dims != nullptr && own_dims->is_integer()) {
    attention.dims_per_head = own_dims->as_integer();
  }
  attention.validate(diagnostics);
}

TransformerBlock::TransformerBlock(const Config& config, Scope& scope) : path_(scope.path()) {
  const NormPolicy policy = config.norm_policy;
  const double after = config.residual_dropout.value_or(config.dropout);
  const auto checked = [&](std::shared_ptr<Layer> layer, const std::string& name) {
    expect_sequence_blocks(scope, layer.get(), path_ + "/" + name);
    return layer;
  };
  const auto norm = [&](const std::string& name) {
    return checked(
        scope.layer(name, norm_for(config.norm_tpl, config.input_dims, config.norm_epsilon)), name);
  };
  const auto add = [&](const std::string& name, const std::string& dropout_name,
                       const std::function<std::shared_ptr<Layer>()>& make_layer) {
    Branch branch;
    const std::string main = name + "_norm";
    if (policy == NormPolicy::pre || policy == NormPolicy::primer_hybrid) branch[0] = norm(main);
    branch[1] = make_layer();
    if (policy == NormPolicy::primer_hybrid) branch[2] = norm(name + "_post_norm");
    if (policy == NormPolicy::post) branch[2] = norm(main);
    branch[3] = scope.layer(dropout_name, dropout(after));
    if (config.residual_droppath_prob > 0) {
      branch[4] =
          scope.layer(name + "_drop_path",
                      {"nn/DropPath", Value::table({{"rate", config.residual_droppath_prob}})});
    }
    if (policy == NormPolicy::post_skip) branch[5] = norm(main);
    branches_.push_back(std::move(branch));
  };
  add("attention", "attention_dropout",
      [&] { return checked(scope.layer("attention", self_attention(config)), "attention"); });
  if (config.cross_attention) {
    add("cross", "cross_dropout", [&] {
      return checked(scope.layer("cross_attention", cross_attention(config)), "cross_attention");
    });
  }
  add("mlp", "output_dropout", [&] {
    return checked(feed_forward(config, scope), config.ffn_tpl ? "feed_forward" : "mlp");
  });
  if (config.adapter_dims > 0) {
    Branch branch;
    branch[0] = norm("adapter_norm");
    branch[1] = adapter(config, scope);
    branches_.push_back(std::move(branch));
  }
}

Tensor TransformerBlock::through(const Tensor& x, const Run& run) const {
  Tensor h = x;
  for (std::size_t at = 0; at < kParts * branches_.size(); at += kParts) {
    const std::size_t last = at + kParts - 1;
    Tensor y = h;
    for (std::size_t i = at; i < last; ++i) y = run(i, y);
    h = run(last, ops::add(h, y));
  }
  return h;
}

Tensor TransformerBlock::fprop(const Tensor& x, FpropContext& context) {
  return through(x, [&](std::size_t i, const Tensor& y) {
    return layer(i) != nullptr ? layer(i)->fprop(y, context) : y;
  });
}

std::vector<Tensor> TransformerBlock::fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) {
  std::vector<Tensor> h(x.begin(), x.end());
  for (const Branch& branch : branches_) {
    std::vector<Tensor> y = h;
    for (std::size_t i = 0; i + 1 < kParts; ++i) {
      if (branch[i] != nullptr) y = trivet::fprop_blocks(*branch[i], y, cut);
    }
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = ops::add(h[i], y[i]);
    if (branch.back() != nullptr) h = trivet::fprop_blocks(*branch.back(), h, cut);
  }
  return h;
}

const void* TransformerBlock::extension(std::string_view id) const noexcept {
  if (id == kLayerSequenceBlocks) return static_cast<const SequenceBlocks*>(this);
  return DecodingLayer::extension(id);
}

std::unique_ptr<LayerCache> TransformerBlock::make_cache(std::int64_t batch,
                                                         std::int64_t max_length) const {
  static constexpr const char* kNames[kParts] = {"norm",    "layer",     "norm",
                                                 "dropout", "drop path", "norm"};
  auto caches = std::make_unique<LayerCaches>();
  for (std::size_t i = 0; i < kParts * branches_.size(); ++i) {
    const bool last = i / kParts + 1 == branches_.size();
    const std::string name = path_ + (last ? "/mlp " : "/attention ") + kNames[i % kParts];
    caches->add(layer(i), name, batch, max_length);
  }
  return caches;
}

Tensor TransformerBlock::extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) {
  auto& caches = static_cast<LayerCaches&>(cache);
  return through(x, [&](std::size_t i, const Tensor& y) {
    return layer(i) != nullptr ? trivet::extend_step(*layer(i), y, caches.at(i), context) : y;
  });
}

}  // namespace trivet::nn
