// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/stacked_transformer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "nn/basic/templates.h"
#include "nn/split/axis_split.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tensor/mesh.h"

namespace trivet::nn {
namespace {

// A block with moe_layer_tpl instead of its Mlp refuses fields of the Mlp, which the other blocks
// use.
ConfigOf<Layer> without_mlp(const ConfigOf<Layer>& block) {
  Value fields = block.fields();
  for (const char* field : {"activation", "use_gated_activation"}) fields.erase(field);
  return {std::string(block.key()), std::move(fields)};
}

[[noreturn]] void refuse(const std::string& layer, const std::string& subject,
                         const std::string& what, const std::string& hint) {
  throw ConfigError(Diagnostic{
      .path = "task.model", .what = "'" + layer + "': " + subject + " " + what, .hint = hint});
}

void add_losses(FpropContext& context, const NestedMap& losses) {
  for (const auto& [name, loss] : losses) context.aux_losses.set(name, loss);
}

// Of the rows of a micro-batch. Layers draw other random numbers for each.
FpropContext microbatch_context(const FpropContext& whole, std::int64_t batch, std::int64_t index,
                                std::int64_t count) {
  FpropContext context = whole;
  context.key = whole.key.fold("microbatch").fold(static_cast<std::uint64_t>(index));
  context.aux_losses = {};
  context.summaries = {};
  const std::int64_t rows = batch / count;
  for (Tensor* each : {&context.positions, &context.segment_ids, &context.paddings,
                       &context.inputs_indicator, &context.task_ids, &context.cross_inputs,
                       &context.cross_paddings, &context.cross_segment_ids}) {
    if (each->defined() && each->rank() > 0 && each->dim(0) == batch) {
      *each = ops::slice(*each, 0, index * rows, (index + 1) * rows);
    }
  }
  return context;
}

// A pipeline hands on activations alone: gradients of other inputs would not reach their source.
void check_stages(const std::string& path, const StackedTransformerConfig& config) {
  const Value* cross = config.transformer_layer_params_tpl.fields().find("cross_attention");
  if (cross != nullptr && *cross == Value(true)) {
    refuse(path, "cross_attention",
           "cannot be in a pipeline, which passes no gradients to its inputs",
           "use a mesh without stage");
  }
}

}  // namespace

void PipelineConfig::validate(Diagnostics& diagnostics) const {
  if (num_microbatches == 0 || microbatch_size == 0) return;
  diagnostics.add("microbatch_size", "is set, and num_microbatches, too", "remove one of them");
}

void StackedTransformerConfig::validate(Diagnostics& diagnostics) const {
  if (num_layers > 0 && !transformer_layer_params_tpl) {
    diagnostics.add("transformer_layer_params_tpl", "is \"none\"");
  }
  if (!moe_layers.empty() && !moe_layer_tpl) {
    diagnostics.add("moe_layer_tpl", "is not set, but moe_layers lists blocks that need it");
  }
  if (moe_layers.empty() && moe_layer_tpl) {
    diagnostics.add("moe_layer_tpl", "is not used, as moe_layers lists no blocks",
                    "list the blocks with experts, such as moe_layers = [1, 3], or remove it");
  }
  if (!attention_layers.empty() && !attention_layer_tpl) {
    diagnostics.add("attention_layer_tpl",
                    "is \"none\", but attention_layers lists blocks that need it");
  }
  const auto check = [&](const char* field, const std::vector<std::int64_t>& layers) {
    for (const std::int64_t layer : layers) {
      if (num_layers == 0 || layer < num_layers) continue;
      diagnostics.add(field, "has " + std::to_string(layer) + ", but the last of the " +
                                 std::to_string(num_layers) + " blocks is " +
                                 std::to_string(num_layers - 1));
    }
    std::vector<std::int64_t> sorted = layers;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
      diagnostics.add(field, "has " + std::to_string(*twice) + " twice", "remove one of them");
    }
  };
  check("moe_layers", moe_layers);
  check("attention_layers", attention_layers);
}

StackedTransformer::StackedTransformer(const Config& config, Scope& scope)
    : InTurn(config.checkpoint_policy, "transformer_layer_out"),
      path_(scope.path()),
      pipeline_(config.pipeline),
      stages_(scope.mesh().axis("stage")),
      positions_(scope.mesh().axis("seq")) {
  const std::int64_t parts = stages_.extent() * config.pipeline.circular_repeat;
  if (stages_.is_split() && config.num_layers % parts != 0) {
    refuse(path_, "num_layers = " + std::to_string(config.num_layers),
           "is no multiple of the " + std::to_string(parts) + " parts of a pipeline (" +
               std::to_string(stages_.extent()) + " stages, circular_repeat = " +
               std::to_string(config.pipeline.circular_repeat) + ")",
           "change num_layers, circular_repeat or the mesh");
  }
  if (stages_.is_split()) check_stages(path_, config);
  blocks_of_part_ = static_cast<std::size_t>(config.num_layers / parts);
  add(scope, "input_dropout", dropout(config.input_dropout_prob));
  first_block_ = size();
  ConfigOf<Layer> block = config.transformer_layer_params_tpl;
  const Value* own = block.fields().find("dropout");
  const bool has_own = own != nullptr && own->is_float() && own->as_float() != 0;
  if (config.dropout_prob > 0 && !has_own) {
    complete(block, "atten_dropout", config.dropout_prob, 0.0);
    complete(block, "residual_dropout", config.dropout_prob, Value());
    complete(block, "relu_dropout", config.dropout_prob, Value());
  }
  const auto lists = [](const std::vector<std::int64_t>& layers, std::int64_t i) {
    return std::ranges::find(layers, i) != layers.end();
  };
  bool has_mlp = false;
  for (std::int64_t i = 0; i < config.num_layers; ++i) has_mlp |= !lists(config.moe_layers, i);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    ConfigOf<Layer> layer = block;
    if (lists(config.attention_layers, i)) {
      Value fields = layer.fields();
      fields.set("attention_tpl", config.attention_layer_tpl.to_value());
      layer = {std::string(layer.key()), std::move(fields)};
    }
    if (lists(config.moe_layers, i)) {
      if (has_mlp) layer = without_mlp(layer);
      complete(layer, "ffn_tpl", config.moe_layer_tpl.to_value(), Value());
    }
    const std::string name = "layer_" + std::to_string(i);
    const Scope blocks = scope.in_sequence_blocks();
    if (!stages_.is_split()) {
      add(blocks, name, layer);
      continue;
    }
    const auto part = i / static_cast<std::int64_t>(blocks_of_part_);
    add(blocks.at_stage(part % stages_.extent()), name, layer);
  }
}

PipelineShape StackedTransformer::shape_of(const Tensor& x) const {
  const std::int64_t batch = x.dim(0), size = pipeline_.microbatch_size;
  const std::int64_t chosen =
      pipeline_.num_microbatches > 0 ? pipeline_.num_microbatches : stages_.extent();
  const std::int64_t count = size > 0 ? batch / size : chosen;
  if (count < 1 || batch % count != 0 || (size > 0 && batch % size != 0)) {
    refuse(path_,
           size > 0 ? "pipeline.microbatch_size = " + std::to_string(size)
                    : "a pipeline of " + std::to_string(count) + " micro-batches",
           "does not divide a batch of " + std::to_string(batch) + " examples",
           std::string("set pipeline.") + (size > 0 ? "microbatch_size" : "num_microbatches") +
               " to a divisor of the examples of a shard");
  }
  return {.num_microbatches = count, .circular_repeat = pipeline_.circular_repeat};
}

Tensor StackedTransformer::fprop(const Tensor& x, FpropContext& context) {
  if (!context.train) return InTurn::fprop(x, context);
  const Tensor input = fprop_range(x, context, 0, first_block_);
  if (stages_.is_split()) return fprop_stages(input, context);
  return fprop_positions(input, context, first_block_, size());
}

// Of blocks of the stack, in blocks of positions where the mesh has devices along seq.
Tensor StackedTransformer::fprop_positions(const Tensor& x, FpropContext& context,
                                           std::size_t first, std::size_t end) {
  if (!positions_.is_split()) return fprop_range(x, context, first, end);
  SequenceCut cut(context, x, positions_);
  Tensor y = cut.whole_of(fprop_blocks_range(cut.blocks_of(x), cut, first, end));
  add_losses(context, cut.whole().aux_losses);
  return y;
}

Tensor StackedTransformer::fprop_stages(const Tensor& x, FpropContext& context) {
  const PipelineShape shape = shape_of(x);
  std::vector<FpropContext> contexts;
  for (std::int64_t m = 0; m < shape.num_microbatches; ++m) {
    contexts.push_back(microbatch_context(context, x.dim(0), m, shape.num_microbatches));
  }
  const PipelinePart part = [&](const Tensor& rows, std::int64_t index, std::int64_t m) {
    const std::size_t first = first_block_ + static_cast<std::size_t>(index) * blocks_of_part_;
    return fprop_positions(rows, contexts[static_cast<std::size_t>(m)], first,
                           first + blocks_of_part_);
  };
  Tensor y = trivet::pipeline(x, stages_, shape, part);
  std::vector<NestedMap> losses;
  for (FpropContext& inside : contexts) losses.push_back(std::move(inside.aux_losses));
  add_losses(context, pipeline_losses(losses, stages_, x.device()));
  return y;
}

}  // namespace trivet::nn
