// SPDX-License-Identifier: Apache-2.0
// The configs of layers: samples through the round-trip check that plugin authors use, and what
// every layer that the plugin registers says of its own fields.
#include <catch2/catch.hpp>

#include "config/toml/toml_reader.h"
#include "config/toml/toml_writer.h"
#include "nn/activation/activations.h"
#include "nn/activation/composed_activations.h"
#include "nn/attention/alibi_bias.h"
#include "nn/attention/feed_forward.h"
#include "nn/attention/moe_feed_forward.h"
#include "nn/attention/multi_head_attention.h"
#include "nn/attention/positional_embedding.h"
#include "nn/attention/relative_bias.h"
#include "nn/attention/stacked_transformer.h"
#include "nn/attention/transformer_block.h"
#include "nn/basic/bregman_pca.h"
#include "nn/basic/containers.h"
#include "nn/basic/drop_path.h"
#include "nn/basic/dropout.h"
#include "nn/basic/embedding.h"
#include "nn/basic/gshard_shared_embedding_softmax.h"
#include "nn/basic/linear.h"
#include "nn/basic/softmax.h"
#include "nn/conv/causal_depthwise_conv1d.h"
#include "nn/conv/conv1d.h"
#include "nn/conv/conv2d.h"
#include "nn/conv/flatten.h"
#include "nn/conv/pool2d.h"
#include "nn/norm/batch_norm.h"
#include "nn/norm/group_norm.h"
#include "nn/norm/layer_norm.h"
#include "nn/norm/rms_norm.h"
#include "nn/norm/spectral_norm.h"
#include "nn/norm/weight_norm_l2.h"
#include "nn/quantization/activation_quantization.h"
#include "nn/quantization/fake_quantization.h"
#include "nn/recurrent/bidirectional.h"
#include "nn/recurrent/gru.h"
#include "nn/recurrent/lstm.h"
#include "nn/recurrent/s5.h"
#include "nn/recurrent/ssm.h"
#include "plugins/config_round_trip.h"
#include "support/plugins.h"
#include "trivet/plugin/registry.h"

namespace nn = trivet::nn;
using trivet::test::check_round_trip;

namespace nn_config_test {
namespace {

using Form = trivet::FieldType::Form;
using trivet::Value;

// The least that a config of this schema may say.
Value required_fields(const trivet::Schema& schema) {
  Value config = Value::table();
  for (const trivet::Field& field : schema.fields) {
    if (!field.required) continue;
    if (field.type.form == Form::integer) {
      config.set(field.name, static_cast<std::int64_t>(field.low.value_or(1)));
    } else if (field.type.form == Form::floating) {
      config.set(field.name, field.low.value_or(0) + 0.5);
    } else if (field.type.form == Form::config) {
      config.set(field.name, "nn/Relu");
    } else {
      FAIL("no sample for the required field " << field.name);
    }
  }
  return config;
}

bool is_valid(const Value& config, const trivet::Schema& schema) {
  trivet::Diagnostics problems;
  validate(config, schema, nullptr, problems);
  return problems.empty();
}

}  // namespace

TEST_CASE("every registered layer takes its required fields and its own defaults") {
  trivet::test::use_plugin("nn");
  std::size_t layers = 0;
  for (const trivet::RegistryItem* item : trivet::registry().items("layer")) {
    if (!item->key.starts_with("nn/")) continue;
    ++layers;
    INFO(item->key);
    REQUIRE(item->schema != nullptr);
    const trivet::Schema& schema = item->schema();
    const Value least = required_fields(schema);
    CHECK(is_valid(least, schema));
    Value whole = least;
    fill_defaults(whole, schema, nullptr);
    CHECK(is_valid(whole, schema));
    Value read = trivet::read_toml(trivet::write_toml(whole), "layer.toml");
    fill_defaults(read, schema, nullptr);
    CHECK(read == whole);
    Value odd = whole;
    odd.set("no_such_field_of_any_layer", 1);
    CHECK_FALSE(is_valid(odd, schema));
    for (const trivet::Field& field : schema.fields) {
      INFO(field.name);
      CHECK_FALSE(field.doc.empty());
      if (!field.required) continue;
      Value lacking = least;
      lacking.erase(field.name);
      CHECK_FALSE(is_valid(lacking, schema));
    }
  }
  CHECK(layers > 30);
}

}  // namespace nn_config_test

TEST_CASE("the configs of layers with weights survive the way to a file and back") {
  nn::LinearConfig linear;
  linear.input_dims = 3;
  linear.output_dims = 4;
  linear.parametrization = "nn/FakeQuantization";
  check_round_trip(linear);
  nn::Conv2dConfig conv;
  conv.input_dims = 3;
  conv.output_dims = 4;
  conv.padding = nn::Border::explicit_;
  conv.pad = {1, 2};
  check_round_trip(conv);
  nn::EmbeddingConfig embedding;
  embedding.num_classes = 10;
  embedding.input_dims = 4;
  check_round_trip(embedding);
  nn::LayerNormConfig layer_norm;
  layer_norm.dim = 4;
  check_round_trip(layer_norm);
  nn::BatchNormConfig batch_norm;
  batch_norm.dim = 4;
  batch_norm.use_moving_avg_in_training = true;
  batch_norm.activation = "nn/Relu";
  batch_norm.scale_init = {trivet::Init::constant, 0};
  check_round_trip(batch_norm);
  nn::MultiHeadAttentionConfig attention;
  attention.input_dims = 8;
  attention.num_heads = 4;
  attention.num_kv_heads = 2;
  attention.causal = true;
  check_round_trip(attention);
  nn::TransformerBlockConfig block;
  block.input_dims = 8;
  block.num_heads = 2;
  block.dropout = 0.5;
  check_round_trip(block);
}

TEST_CASE("the configs of the parts of transformers survive the way to a file and back") {
  check_round_trip(nn::RmsNormConfig{});
  check_round_trip(nn::FeedForwardConfig{});
  nn::PositionalEmbeddingConfig sines;
  sines.input_dims = 4;
  check_round_trip(sines);
  nn::TrainablePositionalEmbeddingConfig learned;
  learned.input_dims = 4;
  learned.init = {trivet::Init::normal, 0.01};
  check_round_trip(learned);
  nn::MultiHeadAttentionConfig attention;
  attention.input_dims = 8;
  attention.num_heads = 2;
  attention.use_rotary_position_emb = true;
  attention.rotary_dims = 2;
  attention.window = 16;
  attention.right_context = 0;
  attention.attention_extra_logit = -0.5;
  attention.dconv_qkv = true;
  attention.rel_pos_emb_dim = 4;
  check_round_trip(attention);
  nn::TransformerBlockConfig block;
  block.input_dims = 8;
  block.num_heads = 2;
  block.residual_dropout = 0.25;
  block.norm_policy = nn::NormPolicy::primer_hybrid;
  block.norm_tpl = "nn/RmsNorm";
  block.ffn_tpl = "nn/FeedForward";
  check_round_trip(block);
}

TEST_CASE("the configs of relative biases and experts survive the way to a file and back") {
  check_round_trip(nn::RelativeBiasConfig{});
  check_round_trip(nn::AlibiBiasConfig{});
  nn::MoeFeedForwardConfig experts;
  experts.num_experts = 4;
  experts.gating_func = nn::GatingFunc::expert_choice;
  check_round_trip(experts);
  experts.gating_func = nn::GatingFunc::top2;
  experts.second_expert_policy = nn::SecondExpertPolicy::random;
  experts.second_expert_threshold = 0.25;
  check_round_trip(experts);
}

TEST_CASE("the configs of recurrent layers and Conv1d survive the way to a file and back") {
  nn::LstmConfig lstm;
  lstm.input_dims = 3;
  lstm.output_dims = 4;
  lstm.cell_value_cap = 0;
  lstm.coupled_gates = true;
  lstm.layer_norm = true;
  lstm.zoneout = 0.25;
  check_round_trip(lstm);
  nn::GruConfig gru;
  gru.input_dims = 3;
  gru.output_dims = 4;
  gru.reverse = true;
  check_round_trip(gru);
  nn::BidirectionalConfig both;
  both.sub = "nn/Gru";
  check_round_trip(both);
  nn::Conv1dConfig conv;
  conv.input_dims = 3;
  conv.output_dims = 4;
  conv.causal = true;
  check_round_trip(conv);
  nn::CausalDepthwiseConv1dConfig depthwise;
  depthwise.dims = 3;
  depthwise.kernel = 5;
  check_round_trip(depthwise);
}

TEST_CASE("the configs of softmax heads survive the way to a file and back") {
  nn::FullSoftmaxConfig full;
  full.input_dims = 4;
  full.num_classes = 10;
  full.z_loss_weight = 1e-4;
  check_round_trip(full);
  nn::SharedEmbeddingSoftmaxConfig shared;
  shared.input_dims = 4;
  shared.num_classes = 10;
  shared.scale_sqrt_depth = true;
  check_round_trip(shared);
  nn::GShardSharedEmbeddingSoftmaxConfig gshard;
  gshard.num_classes = 10;
  gshard.use_tgt_labels_size_as_loss_denominator = false;
  gshard.logits_abs_max = 20;
  check_round_trip(gshard);
}

TEST_CASE("the configs of layers without weights survive the way to a file and back") {
  check_round_trip(nn::FlattenConfig{});
  check_round_trip(nn::ReluConfig{});
  check_round_trip(nn::GeluConfig{});
  check_round_trip(nn::SiluConfig{});
  check_round_trip(nn::TanhConfig{});
  check_round_trip(nn::SigmoidConfig{});
  check_round_trip(nn::Relu6Config{});
  nn::LeakyReluConfig leaky;
  leaky.negative_slope = 0.2;
  check_round_trip(leaky);
  nn::EluConfig elu;
  elu.alpha = 2;
  check_round_trip(elu);
  check_round_trip(nn::SquaredReluConfig{});
  check_round_trip(nn::CubedReluConfig{});
  check_round_trip(nn::SoftplusConfig{});
  check_round_trip(nn::ExpConfig{});
  nn::BregmanPcaConfig bregman;
  bregman.input_dims = 8;
  bregman.num_components = 2;
  bregman.activation = nn::BregmanActivation::softmax;
  bregman.output = nn::BregmanOutput::reconstruction;
  bregman.end_step = 10;
  check_round_trip(bregman);
  nn::SsmConfig ssm;
  ssm.input_dims = 8;
  ssm.state_dims = 4;
  ssm.hippo_type = nn::HippoType::legs;
  check_round_trip(ssm);
  nn::S5Config s5;
  s5.input_dims = 8;
  s5.step_size = 0.5;
  check_round_trip(s5);
  nn::WeightNormL2Config lengths;
  lengths.dim = 3;
  check_round_trip(lengths);
  nn::SpectralNormConfig spectral;
  spectral.dim = 3;
  spectral.n_power_iteration = 2;
  check_round_trip(spectral);
  nn::FakeQuantizationConfig quantized;
  quantized.bits = 4;
  quantized.block_size = 8;
  quantized.num_optimize_clipping = 5;
  quantized.min_clipping = 0.25;
  quantized.optimize_clipping_per_channel = true;
  check_round_trip(quantized);
  nn::ActivationQuantizationConfig activations;
  activations.use_symmetric = false;
  activations.per_channel = false;
  check_round_trip(activations);
  nn::GroupNormConfig groups;
  groups.dim = 8;
  groups.num_groups = 4;
  groups.cumulative = true;
  check_round_trip(groups);
  nn::DropPathConfig path;
  path.rate = 0.25;
  check_round_trip(path);
  nn::MaxPool2dConfig max_pool;
  max_pool.window = {3};
  max_pool.padding = nn::Border::explicit_;
  max_pool.pad = {1};
  check_round_trip(max_pool);
  check_round_trip(nn::AvgPool2dConfig{});
  check_round_trip(nn::GlobalAvgPool2dConfig{});
  nn::DropoutConfig dropout;
  dropout.rate = 0.5;
  check_round_trip(dropout);
}

TEST_CASE("the configs of containers survive the way to a file and back") {
  nn::SequentialConfig sequential;
  sequential.layers = {"nn/Relu", "nn/Flatten"};
  check_round_trip(sequential);
  nn::RepeatConfig repeat;
  repeat.sub = "nn/Relu";
  repeat.x_times = 2;
  repeat.checkpoint_policy = nn::CheckpointPolicy::save_nothing;
  check_round_trip(repeat);
  nn::StackedTransformerConfig stack;
  stack.num_layers = 2;
  stack.transformer_layer_params_tpl = "nn/TransformerBlock";
  stack.moe_layers = {1};
  stack.moe_layer_tpl = "nn/FeedForward";
  check_round_trip(stack);
  nn::ResidualConfig residual;
  residual.sub = "nn/Relu";
  check_round_trip(residual);
}
