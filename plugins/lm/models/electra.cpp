// SPDX-License-Identifier: Apache-2.0
#include "lm/models/electra.h"

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"
#include "trivet/tape.h"
#include "trivet/tensor/meta_device.h"

namespace trivet::lm {
namespace {

constexpr const char* kElectra = "lm/Electra";

EncoderConfig generator_of(const ElectraConfig& config) {
  const auto or_else = [](std::int64_t own, std::int64_t other) { return own > 0 ? own : other; };
  EncoderConfig generator = config;
  generator.model_dims = or_else(config.generator_dims, config.model_dims);
  generator.hidden_dims = config.generator_hidden_dims;
  generator.num_layers = or_else(config.generator_layers, config.num_layers);
  generator.num_heads = or_else(config.generator_heads, config.num_heads);
  if (config.generator_heads > 0) generator.num_kv_heads = 0;
  return generator;
}

// Null if the generator is as deep as the table, or projects its embeddings itself.
std::shared_ptr<Layer> projection_of(const ElectraConfig& config, Scope& scope) {
  const std::int64_t dims = generator_of(config).model_dims;
  if (dims == config.model_dims || config.embedding_dims > 0) return nullptr;
  return scope.layer("embedding_projection",
                     linear_of(config.model_dims, dims, "none", config.init));
}

// The id at which the probabilities add up to `draw` of their sum.
std::int32_t drawn(std::span<const float> probabilities, float draw) {
  double sum = 0, reached = 0;
  for (const float p : probabilities) sum += p;
  const double wanted = draw * sum;
  std::size_t last = 0;
  for (std::size_t id = 0; id < probabilities.size(); ++id) {
    if (!(probabilities[id] > 0)) continue;
    last = id;
    reached += probabilities[id];
    if (reached > wanted) break;
  }
  return static_cast<std::int32_t>(last);
}

}  // namespace

void ElectraConfig::validate(Diagnostics& diagnostics) const {
  MaskedHeadConfig::validate(diagnostics);
  const EncoderConfig generator = generator_of(*this);
  if (generator.num_heads > 0 && generator.model_dims % generator.num_heads != 0) {
    diagnostics.add("generator_dims", "is " + std::to_string(generator.model_dims) +
                                          ", which generator_heads = " +
                                          std::to_string(generator.num_heads) + " does not divide");
  }
}

Electra::Electra(const Config& config, Scope& scope)
    : Electra(config, scope, scope.child("generator")) {}

Electra::Electra(const Config& config, Scope& scope, Scope generator)
    : softmax_(masked_softmax(config, scope, kElectra)),
      table_(softmax_head(*softmax_, "softmax")),
      embedding_(nullptr, table_, kElectra),
      generator_embedding_(nullptr, table_, kElectra, projection_of(config, generator)),
      encoder_(config, scope, kElectra),
      generator_(generator_of(config), generator, kElectra),
      generator_head_(config, generator_of(config).model_dims, table_, generator),
      dense_(scope.layer("discriminator_dense",
                         linear_of(config.model_dims, config.model_dims, "nn/Gelu", config.init))),
      logit_(scope.layer("discriminator_logit",
                         linear_of(config.model_dims, 1, "none", config.init))) {}

NestedMap Electra::fprop(const Batch& batch, FpropContext& context) {
  if (batch.contains("permutation")) {
    throw Error("lm/Electra: the batch has a permutation, but the generator predicts masked tokens",
                {.hint = "leave permutation out of the input"});
  }
  const Tensor h = generator_.fprop(generator_embedding_, batch, context);
  NestedMap outputs = generator_head_.fprop(h, batch, context);
  if (!batch.contains("labels")) return outputs;
  discriminate(with_draws(h, batch, context), batch, context, outputs);
  return outputs;
}

Tensor Electra::with_draws(const Tensor& h, const Batch& batch, FpropContext& context) const {
  const Tensor& labels = batch.at("labels");
  if (is_meta(labels.device())) return labels;  // it has no values to draw from
  const NoGrad no_grad;
  const HostArray<float> weights(batch.at("weights"));
  std::vector<std::int32_t> positions;
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    if (weights[i] > 0) positions.push_back(static_cast<std::int32_t>(i));
  }
  if (positions.empty()) return labels;
  const std::int64_t dims = h.dim(2), count = std::ssize(positions);
  const Tensor chosen =
      ops::gather_rows(ops::reshape(ops::contiguous(h), {labels.size(), dims}),
                       Tensor::from<std::int32_t>(h.device(), positions, {count}));
  const HostArray<float> probabilities(
      ops::softmax(table_.logits(generator_head_.hidden(chosen, context), context)));
  // One draw for each position, so that a position's does not depend on the others.
  std::vector<float> draws(static_cast<std::size_t>(labels.size()));
  random_uniform(context.key_for(kElectra, "draw"), 0, 1, draws);
  std::vector<std::int32_t> ids = labels.to_host<std::int32_t>();
  const auto vocabulary = static_cast<std::size_t>(table_.num_classes());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto position = static_cast<std::size_t>(positions[i]);
    ids[position] = drawn({probabilities.data() + i * vocabulary, vocabulary}, draws[position]);
  }
  return Tensor::from<std::int32_t>(labels.device(), ids, labels.shape());
}

void Electra::discriminate(const Tensor& x, const Batch& batch, FpropContext& context,
                           NestedMap& outputs) const {
  Batch seen = batch;
  seen.set("ids", x);
  const Tensor h = dense_->fprop(encoder_.fprop(embedding_, seen, context), context);
  const Tensor z = ops::reshape(logit_->fprop(h, context), x.shape());
  const Tensor same = ops::equal(x, batch.at("labels"));
  const Tensor zeros = Tensor::zeros(x.device(), x.shape());
  const Tensor replaced = ops::where(same, zeros, ops::add(zeros, 1.0F));
  const Tensor* paddings = batch.find("paddings");
  const Tensor real = paddings != nullptr ? ops::sub(ops::add(zeros, 1.0F), *paddings) : Tensor();
  const Tensor losses = ops::sub(ops::softplus(z), ops::mul(z, replaced));
  outputs.set("discriminator_loss", ops::weighted_mean(losses, real));
  outputs.set("discriminator_logits", z);
  outputs.set("replaced", replaced);
  outputs.set("x", x);
}

}  // namespace trivet::lm
