// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/hf_match.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lm/huggingface/hf_parts.h"
#include "trivet/error.h"
#include "trivet/layer/layer_trace.h"
#include "trivet/plugin/registry.h"

namespace trivet::lm {
namespace {

using Names = std::set<std::string_view>;

// Fields that do not affect what a trained model computes.
const Names& training_fields() {
  static const Names names = {
      "atten_dropout", "bias_init",    "checkpoint_policy",    "dropout",
      "dropout_prob",  "init",         "input_dropout_prob",   "label_smoothing_apply_for_eval",
      "output_init",   "relu_dropout", "label_smoothing_prob", "residual_dropout",
      "z_loss_weight"};
  return names;
}

// Written as part of the weights (merged_weights.h).
constexpr std::string_view kMerged = "lora";

// Fields that a layer passes on to the layers inside it, where they are compared.
Names inherited_fields(std::string_view type) {
  if (type == "nn/TransformerBlock") {
    return {"input_dims", "hidden_dims",          "num_heads", "num_kv_heads",
            "causal",     "use_gated_activation", "has_bias",  "norm_epsilon"};
  }
  if (type == "nn/StackedTransformer") return {"num_layers", "moe_layers"};
  return {};
}

bool holds_layers(const FieldType& type) {
  using Form = FieldType::Form;
  return type.form == Form::config ||
         (type.form == Form::list && !type.element.empty() && holds_layers(type.element[0]));
}

// Resolves defaults of the form "as another field".
void settle_attention(Value& fields) {
  const auto number = [&](const char* name) { return fields.find(name)->as_integer(); };
  if (number("num_kv_heads") == 0) fields.set("num_kv_heads", number("num_heads"));
  if (number("dims_per_head") == 0) {
    fields.set("dims_per_head", number("input_dims") / number("num_heads"));
  }
  fields.erase("cross_dims");
  if (!fields.find("use_rotary_position_emb")->as_boolean()) {
    fields.erase("rotary_theta");
    fields.erase("rotary_dims");
  } else if (number("rotary_dims") == 0) {
    fields.set("rotary_dims", number("dims_per_head"));
  }
}

struct BuiltLayer {
  std::string path, type;
  Value fields;  // those that the layout determines
};

BuiltLayer built_layer(const LayerTrace::Entry& entry) {
  BuiltLayer layer{entry.path, entry.type(), entry.config.fields()};
  const Schema& schema = registry().get(Layer::kKind, layer.type).schema();
  fill_defaults(layer.fields, schema, nullptr);
  if (layer.type == "nn/MultiHeadAttention") settle_attention(layer.fields);
  const Names passed = inherited_fields(layer.type);
  for (const Field& field : schema.fields) {
    if (holds_layers(field.type) || passed.contains(field.name) ||
        training_fields().contains(field.name) || field.name == kMerged) {
      layer.fields.erase(field.name);
    }
  }
  return layer;
}

// The layers in the order they are made, without dropout.
class BuiltLayers {
 public:
  BuiltLayers(const LanguageModelConfig& config, Device& device) {
    const LayerTrace trace;
    ParameterStore store(device, RngKey(0));
    Scope scope(store);
    const LanguageModel model(config, scope);
    for (const LayerTrace::Entry& entry : trace.layers()) {
      if (entry.type() != "nn/Dropout") layers_.push_back(built_layer(entry));
    }
  }

  const std::vector<BuiltLayer>& all() const { return layers_; }

  const BuiltLayer* find(std::string_view path) const {
    const auto found = std::find_if(layers_.begin(), layers_.end(),
                                    [&](const auto& layer) { return layer.path == path; });
    return found == layers_.end() ? nullptr : &*found;
  }

 private:
  std::vector<BuiltLayer> layers_;
};

class Comparison {
 public:
  Comparison(const LanguageModelConfig& config, const HfLayout& layout, Device& device)
      : config_(config), layout_(layout), device_(device), own_(config, device) {}

  DecoderShape run() const {
    if (config_.model_type != ModelType::causal) {
      refuse("model_type is not \"causal\"");
    }
    const DecoderShape shape = this->shape();
    const Value model = layout_.model(shape);
    Value fields = model;
    fields.erase("type");
    const BuiltLayers wanted(decode<LanguageModelConfig>(fields), device_);
    for (const BuiltLayer& layer : wanted.all()) compare(layer);
    for (const BuiltLayer& layer : own_.all()) {
      if (wanted.find(layer.path) == nullptr) {
        refuse("the layer '" + layer.path + "' (" + layer.type + ") does not exist there");
      }
    }
    return shape;
  }

 private:
  [[noreturn]] void refuse(const std::string& why, std::string hint = {}) const {
    throw UsageError(
        "the model cannot be written in the layout '" + std::string(layout_.name()) + "': " + why,
        {.hint = std::move(hint)});
  }

  void compare(const BuiltLayer& wanted) const {
    const BuiltLayer& own = layer(wanted.path, wanted.type);
    for (const Value::Member& field : wanted.fields.members()) {
      const Value* value = own.fields.find(field.key);
      if (value == nullptr || !(*value == field.value)) {
        refuse_field(own, field.key, value, &field.value);
      }
    }
    for (const Value::Member& field : own.fields.members()) {
      if (wanted.fields.find(field.key) == nullptr) {
        refuse_field(own, field.key, &field.value, nullptr);
      }
    }
  }

  [[noreturn]] void refuse_field(const BuiltLayer& layer, const std::string& field,
                                 const Value* value, const Value* wanted) const {
    const auto shown = [](const Value* each) {
      return each == nullptr ? "not set" : to_toml(*each);
    };
    refuse(field + " of the layer '" + layer.path + "' (" + layer.type + ") is " + shown(value) +
           ", and there it is " + shown(wanted));
  }

  const BuiltLayer& layer(const std::string& path, const std::string& type) const {
    const BuiltLayer* found = own_.find(path);
    if (found == nullptr) {
      refuse("the layout has the layer '" + path + "' (" + type + "), the model has none");
    }
    if (found->type != type) {
      refuse("the layer '" + path + "' is " + found->type + ", and there it is " + type);
    }
    return *found;
  }

  std::int64_t integer(const BuiltLayer& layer, const char* field) const {
    return layer.fields.find(field)->as_integer();
  }

  std::string activation() const {
    for (const char* name : {"mlp_gate/activation", "mlp_in/activation"}) {
      const BuiltLayer* found = own_.find(block_path(0) + name);
      if (found == nullptr) continue;
      std::string known = activation_name(found->type, found->fields);
      if (known.empty()) refuse("the layout has no name for the activation " + found->type);
      return known;
    }
    refuse("the layer '" + block_path(0) + "mlp_in' has no activation");
  }

  std::int64_t layers() const {
    std::int64_t count = 0;
    while (own_.find("transformer/layer_" + std::to_string(count)) != nullptr) ++count;
    if (count == 0) refuse("the model has no layer 'transformer/layer_0'");
    return count;
  }

  std::int64_t longest() const {
    const BuiltLayer* positions = own_.find("position_emb");
    if (positions != nullptr && positions->type == "nn/TrainablePositionalEmbedding") {
      return integer(*positions, "max_seq_length");
    }
    if (config_.max_seq_len == 0) {
      refuse("task.model.max_seq_len is 0; set it", "--set task.model.max_seq_len=2048");
    }
    return config_.max_seq_len;
  }

  // Reads the model's own layers. The comparison finds settings that the layout lacks.
  DecoderShape shape() const {
    DecoderShape shape;
    const BuiltLayer& attention = layer(block_path(0) + "attention", "nn/MultiHeadAttention");
    shape.num_heads = integer(attention, "num_heads");
    shape.num_kv_heads = integer(attention, "num_kv_heads");
    shape.dims_per_head = integer(attention, "dims_per_head");
    shape.has_bias = attention.fields.find("has_bias")->as_boolean();
    if (const Value* theta = attention.fields.find("rotary_theta")) {
      shape.rotary_theta = theta->as_float();
    }
    shape.hidden_dims = integer(layer(block_path(0) + "mlp_in", "nn/Linear"), "output_dims");
    shape.activation = activation();
    shape.model_dims = config_.model_dims;
    shape.vocab_size = config_.vocab_size;
    shape.num_layers = layers();
    shape.max_seq_len = longest();
    const BuiltLayer* norm = own_.find("final_norm");
    const Value* epsilon = norm != nullptr ? norm->fields.find("epsilon") : nullptr;
    if (epsilon == nullptr) refuse("the model has no norm 'final_norm'");
    shape.norm_epsilon = epsilon->as_float();
    shape.tied = own_.find("embedding") == nullptr;
    return shape;
  }

  const LanguageModelConfig& config_;
  const HfLayout& layout_;
  Device& device_;
  BuiltLayers own_;
};

}  // namespace

std::string_view likely_layout(const LanguageModelConfig& model) {
  return model.final_norm_tpl.key() == "nn/RmsNorm" ? "llama" : "gpt2";
}

DecoderShape matching_shape(const LanguageModelConfig& model, const HfLayout& layout,
                            Device& device) {
  return Comparison(model, layout, device).run();
}

}  // namespace trivet::lm
