// SPDX-License-Identifier: Apache-2.0
// Stacks whose positions are in blocks over seq.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/nn/split/splits.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/sequence_blocks.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace nn_split_positions_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

constexpr std::int64_t kDims = 16, kLength = 8;
const Shape kInput{2, kLength, kDims};

using Fields = std::initializer_list<std::pair<std::string_view, Value>>;

Value with(const char* type, Fields fields) {
  Value layer = Value::table({{"type", type}});
  for (const auto& [name, value] : fields) layer.set(name, value);
  return layer;
}

// A stack of two blocks with these fields, whose attention has those.
ConfigOf<Layer> stack(Fields block, Fields attention = {}, Fields own = {}) {
  Value layer = with("nn/TransformerBlock", block);
  layer.set("input_dims", kDims);
  layer.set("num_heads", 4);
  layer.set("attention_tpl", with("nn/MultiHeadAttention", attention));
  Value fields = Value::table({{"num_layers", 2}});
  for (const auto& [name, value] : own) fields.set(name, value);
  fields.set("transformer_layer_params_tpl", layer);
  return {"nn/StackedTransformer", std::move(fields)};
}

MeshConfig along_seq(std::int64_t devices, std::int64_t mdl = 1) {
  MeshConfig mesh;
  mesh.mesh_axis_names = {"data", "seq", "mdl"};
  mesh.ici_mesh_shape = {1, devices, mdl};
  return mesh;
}

Tensor integers(Device& device, const std::vector<std::int32_t>& values) {
  return Tensor::from<std::int32_t>(device, values, {2, kLength});
}

void packed(FpropContext& context, Device& device) {
  context.segment_ids = integers(device, {1, 1, 1, 2, 2, 2, 2, 3, 1, 1, 2, 2, 2, 2, 2, 2});
  context.positions = integers(device, {0, 1, 2, 0, 1, 2, 3, 0, 0, 1, 0, 1, 2, 3, 4, 5});
}

void padded(FpropContext& context, Device& device) {
  context.paddings =
      ops::cast(integers(device, {0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1}), DType::f32);
}

void prefixed(FpropContext& context, Device& device) {
  context.inputs_indicator =
      ops::cast(integers(device, {1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0}), DType::f32);
}

void with_tasks(FpropContext& context, Device& device) {
  context.task_ids = integers(device, {0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1});
}

// Of segments, too.
void crossed(FpropContext& context, Device& device) {
  packed(context, device);
  context.cross_inputs =
      Tensor::from(device, std::span<const float>(random_values(2 * 3 * kDims, 8)), {2, 3, kDims});
  const std::vector<std::int32_t> segments{1, 2, 2, 1, 1, 2};
  context.cross_segment_ids = Tensor::from<std::int32_t>(device, segments, {2, 3});
}

}  // namespace

TEST_CASE("blocks of positions compute what the whole sequence does", "[slow]") {
  const std::string backend = GENERATE(from_range(backends()));
  const Value rotary = true;
  const SplitCase cases[] = {
      {"encoder", stack({}), kInput, {}, true},
      {"causal, rotary",
       stack({{"causal", true}}, {{"use_rotary_position_emb", rotary}}),
       kInput,
       {},
       true},
      {"packed", stack({{"causal", true}}, {{"use_rotary_position_emb", rotary}}), kInput, packed,
       true},
      {"packed encoder", stack({}), kInput, packed, true},
      {"paddings", stack({}), kInput, padded, true},
      {"prefix", stack({{"causal", true}}), kInput, prefixed, true},
      {"window, cap, extra logit, no bias",
       stack({{"causal", true}, {"has_bias", false}},
             {{"window", 3}, {"atten_logit_cap", 2.0}, {"attention_extra_logit", 0.5}}),
       kInput,
       {},
       true},
      {"a window of both sides",
       stack({}, {{"window", 2}, {"right_context", 1}}),
       kInput,
       {},
       true},
      {"grouped heads, norms, scales",
       stack({{"causal", true}, {"num_kv_heads", 2}}, {{"qk_norm", true}, {"per_dim_scale", true}}),
       kInput,
       {},
       true},
      {"relative bias",
       stack({{"causal", true}}, {{"relative_bias", "nn/RelativeBias"}}),
       kInput,
       {},
       true},
      {"ALiBi of packed positions", stack({{"causal", true}}, {{"relative_bias", "nn/AlibiBias"}}),
       kInput, packed, true},
      {"post norms, gates, LoRA",
       stack({{"norm_policy", "post_skip"},
              {"norm_tpl", "nn/RmsNorm"},
              {"use_gated_activation", true},
              {"lora", Value::table({{"rank", 2}})}}),
       kInput,
       {},
       true},
      {"adapters of tasks", stack({{"adapter_dims", 3}, {"adapter_tasks", 2}}), kInput, with_tasks,
       true},
      {"cross-attention", stack({{"causal", true}, {"cross_attention", true}}), kInput, crossed,
       true},
      {"cross-attention, computed again",
       stack({{"causal", true}, {"cross_attention", true}}, {},
             {{"checkpoint_policy", "save_nothing"}}),
       kInput, crossed, true},
      // A path is dropped at all positions.
      {"drop path", stack({{"residual_droppath_prob", 0.5}}), kInput, {}, true},
      {"computed again",
       stack({{"causal", true}}, {}, {{"checkpoint_policy", "save_nothing"}}),
       kInput,
       {},
       true},
      {"partly computed again",
       stack({{"causal", true}}, {}, {{"checkpoint_policy", "save_out_proj"}}),
       kInput,
       {},
       true},
  };
  for (const SplitCase& layer : cases) {
    check_split(layer, backend, along_seq(2));
    check_split(layer, backend, along_seq(4));
  }
}

TEST_CASE("blocks of positions and blocks of weights are beside each other", "[slow]") {
  const std::string backend = GENERATE(from_range(backends()));
  const Value mapping = Value::table({{"proj", Value::array({"data", "mdl", -1})},
                                      {"ffn0", Value::array({"data", "mdl"})},
                                      {"ffn1", Value::array({"mdl", "data"})}});
  for (const char* policy : {"save_everything", "save_nothing"}) {
    for (const std::int64_t kv_heads : {1, 4}) {
      const SplitCase layer{
          "causal, rotary",
          stack({{"causal", true},
                 {"num_kv_heads", kv_heads},
                 {"weight_split_dims_mapping", mapping}},
                {{"use_rotary_position_emb", true}}, {{"checkpoint_policy", policy}}),
          kInput,
          {},
          true};
      check_split(layer, backend, along_seq(2, 2));
      check_split(layer, backend, along_seq(4, 2));
    }
  }
}

// They take what is left by other positions, wherever these are.
TEST_CASE("experts route the positions of whole sequences, and their losses count once", "[slow]") {
  const std::string backend = GENERATE(from_range(backends()));
  const auto experts = [&](Fields fields) {
    Value layer = with("nn/MoeFeedForward", fields);
    layer.set("num_experts", 4);
    layer.set("hidden_dims", 12);
    return layer;
  };
  const Value few = experts({{"expert_capacity_factor", 0.5}});
  const Value split = experts(
      {{"weight_split_dims_mapping", Value::table({{"emh", Value::array({"data", -1, "mdl"})},
                                                   {"ehm", Value::array({"data", "mdl", -1})}})}});
  const SplitCase cases[] = {
      {"causal", stack({{"causal", true}, {"ffn_tpl", experts({})}}), kInput, {}, true},
      {"with a small capacity", stack({{"ffn_tpl", few}}), kInput, {}, true},
      {"groups and paddings", stack({{"ffn_tpl", experts({{"num_groups", 2}})}}), kInput, padded,
       true},
      // Whoever computes it draws the same.
      {"a second expert by chance",
       stack({{"ffn_tpl", experts({{"second_expert_policy", "sampling"}})}}),
       kInput,
       {},
       true},
      {"experts that choose",
       stack({{"ffn_tpl", experts({{"gating_func", "expert_choice"}})}}),
       kInput,
       {},
       true},
      {"computed again",
       stack({{"ffn_tpl", few}}, {}, {{"checkpoint_policy", "save_nothing"}}),
       kInput,
       {},
       true},
      {"cross-attention, computed again",
       stack({{"causal", true}, {"cross_attention", true}, {"ffn_tpl", few}}, {},
             {{"checkpoint_policy", "save_nothing"}}),
       kInput, crossed, true},
  };
  for (const SplitCase& layer : cases) {
    check_split(layer, backend, along_seq(2));
    check_split(layer, backend, along_seq(4));
  }
  check_split({"beside mdl", stack({{"ffn_tpl", split}}), kInput, {}, true}, backend,
              along_seq(2, 2));
  CHECK(compute(cases[0], backend, along_seq(4)).losses.size() == 2);
}

TEST_CASE("each block of positions drops elements of its own, unless all positions drop the same") {
  const auto dropped = [&](std::int64_t devices, Value axes) {
    const LayerFixture fixture(
        "tiny/Backend",
        {"nn/Dropout", Value::table({{"rate", 0.5}, {"noise_broadcast_dims", std::move(axes)}})});
    FpropContext context;
    context.train = true;
    const Tensor x = Tensor::full(fixture.device(), {1, 4, 16}, 1);
    SequenceCut cut(context, x, MeshAxis(devices));
    std::vector<std::vector<float>> positions;
    const Tensor y = cut.whole_of(fprop_blocks(fixture.layer(), cut.blocks_of(x), cut));
    for (std::int64_t i = 0; i < 4; ++i) {
      positions.push_back(ops::slice(y, 1, i, i + 1).to_host<float>());
    }
    return positions;
  };
  for (const std::int64_t devices : {2, 4}) {
    const auto own = dropped(devices, Value::array({}));
    CHECK(own[0] != own[1]);
    CHECK(own[1] != own[2]);
    for (const std::int64_t axis : {1, -2}) {
      const auto alike = dropped(devices, Value::array({axis}));
      for (const std::vector<float>& position : alike) CHECK(position == alike[0]);
      CHECK(alike[0] == dropped(1, Value::array({axis}))[0]);
    }
  }
}

}  // namespace nn_split_positions_test
