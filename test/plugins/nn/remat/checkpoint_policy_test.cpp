// SPDX-License-Identifier: Apache-2.0
// What each checkpoint policy computes again, and what it keeps.
#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/plugins.h"
#include "trivet/tensor/profile.h"

namespace nn_checkpoint_policy_test {
namespace {

using trivet::FpropContext;
using trivet::Profile;
using trivet::Tensor;
using trivet::Value;
using trivet::test::check_equal;
using trivet::test::LayerFixture;
using trivet::test::made;
using trivet::test::random_values;
using trivet::test::Step;
using trivet::test::step_of;
using trivet::test::with;

// Praxis' AutodiffCheckpointType without save_everything.
const std::vector<std::string> kPolicies{"save_nothing",
                                         "save_unet_all_conv",
                                         "save_unet_conv",
                                         "save_qkv_out_proj",
                                         "save_out_proj",
                                         "save_context",
                                         "save_encoded_and_out_proj",
                                         "save_dot_only",
                                         "offload_dot_with_no_batch_dims",
                                         "save_dot_with_no_batch_dims",
                                         "save_dot_for_mlperf_200b",
                                         "save_iteration_input",
                                         "save_transformer_layer_output",
                                         "save_quantized",
                                         "save_qkv_out_proj_separate",
                                         "save_dot_except_logits_ffn1",
                                         "save_dot_except_logits"};

constexpr std::int64_t kBatch = 2, kLength = 8, kDims = 8, kHeads = 4, kHidden = 16, kBlocks = 3;

Value block(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value config = with("nn/TransformerBlock",
                      {{"input_dims", kDims}, {"num_heads", kHeads}, {"hidden_dims", kHidden}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

Value repeat(const Value& sub, const std::string& policy) {
  return with("nn/Repeat", {{"sub", sub}, {"x_times", kBlocks}, {"checkpoint_policy", policy}});
}

Value stack(const Value& sub, const std::string& policy) {
  return with("nn/StackedTransformer", {{"num_layers", kBlocks},
                                        {"transformer_layer_params_tpl", sub},
                                        {"checkpoint_policy", policy}});
}

// Floating-point operations of all products of a step.
double work(const Profile& profile) {
  double flops = 0;
  for (const Profile::Kernel& kernel : profile.kernels()) {
    for (const std::string_view kind : {"linear", "matmul", "attention", "conv2d"}) {
      if (kernel.name.starts_with(kind)) flops += kernel.flops;
    }
  }
  return flops;
}

struct Measured {
  Step step;
  double work = 0;
  bool attention_kernel = false;
};

Measured measured(const std::string& backend, const Value& config, std::int64_t length = kLength) {
  const LayerFixture fixture = made(backend, config);
  FpropContext context;
  context.cross_inputs = fixture.tensor(random_values(kBatch * 5 * kDims, 6), {kBatch, 5, kDims});
  const Tensor x =
      fixture.tensor(random_values(kBatch * length * kDims, 5), {kBatch, length, kDims});
  const Profile profile(fixture.device());
  Measured of{step_of(fixture.layer(), fixture.store(), x, context)};
  of.work = work(profile);
  of.attention_kernel = std::ranges::any_of(profile.kernels(), [](const Profile::Kernel& kernel) {
    return kernel.name.starts_with("attention_fwd");
  });
  return of;
}

}  // namespace

TEST_CASE("all checkpoint policies give the bits of save_everything", "[slow]") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value moe = with("nn/MoeFeedForward", {{"num_experts", 2}});
  const Value gated =
      with("nn/FeedForward", {{"use_gated_activation", true}, {"activation", with("nn/Silu", {})}});
  const Value relative = with("nn/MultiHeadAttention",
                              {{"relative_bias", with("nn/RelativeBias", {})}, {"causal", true}});
  const Value grouped =
      with("nn/MultiHeadAttention",
           {{"num_kv_heads", 2}, {"use_rotary_position_emb", true}, {"causal", true}});
  const std::vector<Value> blocks{
      block({{"attention_tpl", grouped}}),
      block({{"ffn_tpl", moe}}),
      block({{"dropout", 0.25}, {"atten_dropout", 0.25}}),
      block({{"ffn_tpl", gated}}),
      block({{"cross_attention", true}}),
      block({{"attention_tpl", relative}}),
      with("nn/XlnetBlock", {{"input_dims", kDims}, {"num_heads", kHeads}}),
      with("nn/ReuseBlock", {{"input_dims", kDims}, {"num_heads", kHeads}}),
      block({{"attention_tpl", with("nn/KernelAttention", {})}}),
  };
  for (const Value& sub : blocks) {
    INFO(backend << "\n" << trivet::to_toml(sub));
    const Step want = measured(backend, repeat(sub, "save_everything")).step;
    for (const std::string& policy : kPolicies) {
      INFO(policy);
      const Step got = measured(backend, repeat(sub, policy)).step;
      check_equal(got, want);
      CHECK(got.ops < want.ops);
    }
  }
}

TEST_CASE("a checkpoint policy spares the products that it keeps") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool gate = GENERATE(false, true);
  const Value ffn = with("nn/FeedForward", {{"use_gated_activation", gate}});
  const Value sub = block({{"ffn_tpl", ffn}});
  const Measured again = measured(backend, stack(sub, "save_nothing"));
  constexpr double kRows = kBatch * kLength;
  constexpr double kProjection = 2 * kRows * kDims * kDims, kFfn = 2 * kRows * kDims * kHidden,
                   kPairs = 2 * kRows * kLength * kDims;  // scores, or their products with values
  // A kernel of attention computes both products at once. Composed, the name is the second's.
  const double context = again.attention_kernel ? 2 * kPairs : kPairs;
  const double gated = gate ? kFfn : 0;
  const double dense = 4 * kProjection + 2 * kFfn + gated;
  const std::map<std::string, double> spared{
      {"save_everything", dense + 2 * kPairs},
      {"save_dot_only", dense + 2 * kPairs},
      {"save_dot_with_no_batch_dims", dense},
      {"offload_dot_with_no_batch_dims", dense},
      {"save_qkv_out_proj", 4 * kProjection},
      {"save_qkv_out_proj_separate", 4 * kProjection},
      {"save_out_proj", kProjection},
      {"save_context", context},
      {"save_encoded_and_out_proj", context + kProjection},
      {"save_dot_for_mlperf_200b", context + 4 * kProjection},
      {"save_quantized", context + 4 * kProjection},
      {"save_dot_except_logits_ffn1", context + 4 * kProjection + kFfn},
      {"save_dot_except_logits", context + 4 * kProjection + 2 * kFfn},
      {"save_iteration_input", 0},
      {"save_transformer_layer_output", 0},
      {"save_unet_conv", 0},
      {"save_unet_all_conv", 0},
  };
  CHECK(spared.size() == kPolicies.size());
  for (const auto& [policy, flops] : spared) {
    INFO(backend << " " << policy);
    CHECK(again.work - measured(backend, stack(sub, policy)).work == kBlocks * flops);
  }
}

TEST_CASE("other attentions than nn/MultiHeadAttention name their products, too") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::vector<Value> blocks{
      with("nn/XlnetBlock", {{"input_dims", kDims}, {"num_heads", kHeads}}),
      with("nn/ReuseBlock", {{"input_dims", kDims}, {"num_heads", kHeads}}),
      block({{"attention_tpl", with("nn/KernelAttention", {})}}),
      block({{"attention_tpl", with("nn/BigBirdAttention", {{"block_size", 2}})}}),
  };
  constexpr double kProjection = 2.0 * kBatch * kLength * kDims * kDims;
  for (const Value& sub : blocks) {
    INFO(backend << "\n" << trivet::to_toml(sub));
    const double again = measured(backend, repeat(sub, "save_nothing")).work;
    const auto spared = [&](const std::string& policy) {
      return again - measured(backend, repeat(sub, policy)).work;
    };
    CHECK(spared("save_out_proj") == kBlocks * kProjection);
    CHECK(spared("save_qkv_out_proj") == kBlocks * 4 * kProjection);
  }
}

TEST_CASE(
    "a stack inside of a rematerialized layer runs forward once less if its layers' outputs "
    "are kept") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value moe = block({{"ffn_tpl", with("nn/MoeFeedForward", {{"num_experts", 2}})}});
  const auto nested = [&](const std::string& policy, bool repeated) {
    return repeat(repeated ? repeat(moe, "save_nothing") : stack(moe, "save_nothing"), policy);
  };
  for (const bool repeated : {false, true}) {
    const std::string own = repeated ? "save_iteration_input" : "save_transformer_layer_output";
    const std::string other = repeated ? "save_transformer_layer_output" : "save_iteration_input";
    INFO(backend << " " << own);
    const Measured plain = measured(backend, nested("save_everything", repeated));
    const Measured twice = measured(backend, nested("save_nothing", repeated));
    const Measured kept = measured(backend, nested(own, repeated));
    check_equal(twice.step, plain.step);
    check_equal(kept.step, plain.step);
    CHECK(twice.work > plain.work);
    CHECK(kept.work == plain.work);
    CHECK(measured(backend, nested(other, repeated)).work == twice.work);
    CHECK_FALSE(plain.step.aux_losses.empty());
  }
}

TEST_CASE("the memory of a checkpoint policy is between that of nothing and that of everything",
          "[slow]") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value sub = block({{"dropout", 0.25}});
  std::map<std::string, std::uint64_t> bytes;
  const auto measure = [&](const std::string& policy) {
    const LayerFixture fixture = made(backend, stack(sub, policy));
    const Tensor x = fixture.tensor(random_values(kBatch * 64 * kDims, 5), {kBatch, 64, kDims});
    for (int i = 0; i < 2; ++i) {
      fixture.device().begin_step();
      step_of(fixture.layer(), fixture.store(), x);
      fixture.device().end_step();
    }
    bytes[policy] = fixture.device().memory().lower_bound_bytes;
  };
  measure("save_everything");
  for (const std::string& policy : kPolicies) measure(policy);
  for (const std::string& policy : kPolicies) {
    INFO(backend << " " << policy << ": " << bytes[policy] << " of " << bytes["save_nothing"]
                 << " to " << bytes["save_everything"]);
    CHECK(bytes[policy] >= bytes["save_nothing"]);
    CHECK(bytes[policy] < bytes["save_everything"]);
  }
  // The order of what they keep.
  CHECK(bytes["save_nothing"] < bytes["save_out_proj"]);
  CHECK(bytes["save_out_proj"] < bytes["save_encoded_and_out_proj"]);
  CHECK(bytes["save_encoded_and_out_proj"] < bytes["save_dot_for_mlperf_200b"]);
  CHECK(bytes["save_dot_for_mlperf_200b"] < bytes["save_dot_except_logits_ffn1"]);
  CHECK(bytes["save_dot_except_logits_ffn1"] < bytes["save_dot_except_logits"]);
  CHECK(bytes["save_dot_with_no_batch_dims"] < bytes["save_dot_only"]);
}

}  // namespace nn_checkpoint_policy_test
