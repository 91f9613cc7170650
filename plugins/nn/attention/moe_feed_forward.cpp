// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/moe_feed_forward.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "nn/basic/checks.h"
#include "nn/basic/sequence_context.h"
#include "nn/basic/templates.h"
#include "nn/split/axis_split.h"
#include "trivet/extensions/activation.h"
#include "trivet/layer/row_share.h"
#include "trivet/ops.h"
#include "trivet/ops/ops_mesh.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

constexpr const char* kMoe = "nn/MoeFeedForward";
constexpr float kEpsilon = 1e-9F;  // Praxis': for division by gates of 0

// Empty: positions are routed independently.
struct NoCache final : LayerCache {
  void reorder(std::span<const std::int32_t>) override {}
  bool can_append_rows() const override { return true; }
  void align(std::int64_t) override {}
  void append_rows(const LayerCache&) override {}
  bool can_remove_last() const override { return true; }
  void remove_last(std::int64_t) override {}
};

std::int64_t hidden_dims(const MoeFeedForwardConfig& config) {
  return config.hidden_dims > 0 ? config.hidden_dims : 4 * config.input_dims;
}

// The axis over which the hidden dimension of all experts is split.
MeshAxis hidden_axis(const MoeFeedForwardConfig& config, const Scope& scope) {
  const std::int64_t experts = config.num_experts, in = config.input_dims;
  const MoeSplitConfig& mapping = config.weight_split_dims_mapping;
  const auto split = [&](const SplitDims& dims, const Shape& weights, std::size_t hidden,
                         const char* field) {
    const AxisSplit found = split_of(dims, weights, scope, field);
    if (found.is_split() && !found.is_over(hidden)) {
      refuse_mapping("splits num_experts or input_dims over mdl, but experts are split inside",
                     "name mdl in the entry of hidden_dims", scope, field);
    }
    return found;
  };
  const AxisSplit up =
      split(mapping.emh, {experts, in, hidden_dims(config)}, 2, "weight_split_dims_mapping.emh");
  const AxisSplit down =
      split(mapping.ehm, {experts, hidden_dims(config), in}, 1, "weight_split_dims_mapping.ehm");
  if (up.is_split() != down.is_split()) {
    refuse_mapping("splits hidden_dims over mdl in one of emh and ehm only",
                   "name mdl in both, or in none", scope, "weight_split_dims_mapping");
  }
  return up.axis;
}

// Whether processes may compute with some experts each.
bool computes_apart(const MoeFeedForwardConfig& config, const Scope& scope) {
  const MoeSplitConfig& mapping = config.weight_split_dims_mapping;
  return splits_rows_over_batch(mapping.emh, scope) && splits_rows_over_batch(mapping.ehm, scope);
}

// Weights of all experts [E, in, out], each initialized like a linear layer's.
Parameter& experts_parameter(Scope& scope, const char* name, const MoeFeedForwardConfig& config,
                             std::int64_t in, std::int64_t out, const MeshAxis& axis) {
  return scope.parameter(name, {config.num_experts, in, out},
                         {.init = config.init,
                          .fan_in = in,
                          .fan_out = out,
                          .blocks = axis.extent(),
                          .rows_apart = computes_apart(config, scope)});
}

Tensor with_zero_row(const Tensor& rows) {
  const Tensor zero = Tensor::zeros(rows.device(), {1, rows.dim(1)});
  return ops::concat(std::vector<Tensor>{rows, zero}, 0);
}

Tensor indices(Device& device, const std::vector<std::int32_t>& values) {
  return Tensor::from<std::int32_t>(device, values, {static_cast<std::int64_t>(values.size())});
}

// gates [positions, experts] -> [positions, 1]: the gate of each position's expert.
Tensor gates_of(const Tensor& gates, const std::vector<std::int32_t>& experts) {
  std::vector<std::int32_t> flat;
  const auto count = static_cast<std::int32_t>(gates.dim(1));
  for (std::size_t position = 0; position < experts.size(); ++position) {
    flat.push_back(static_cast<std::int32_t>(position) * count + experts[position]);
  }
  return ops::gather_rows(ops::reshape(gates, {gates.size(), 1}), indices(gates.device(), flat));
}

}  // namespace

void MoeFeedForwardConfig::validate(Diagnostics& diagnostics) const {
  const auto of_top2 = [&](const char* field, const char* hint) {
    diagnostics.add(field, "has an effect only with gating_func = \"top2\"", hint);
  };
  if (second_expert_policy != SecondExpertPolicy::all && gating_func != GatingFunc::top2) {
    of_top2("second_expert_policy", "remove it, or change gating_func");
  }
  const MoeFeedForwardConfig plain;
  if (second_expert_threshold != plain.second_expert_threshold &&
      second_expert_policy != SecondExpertPolicy::random) {
    diagnostics.add("second_expert_threshold",
                    "has an effect only with second_expert_policy = \"random\"",
                    "remove it, or set the policy");
  }
  const auto unused = [&](const char* field, bool set, const char* why) {
    if (set) diagnostics.add(field, why, "remove it, or change gating_func");
  };
  if (gating_func == GatingFunc::dense_top2) {
    constexpr const char* kWhy = "has no effect with dense_top2, which has no groups and no limit";
    unused("num_groups", num_groups != plain.num_groups, kWhy);
    unused("min_group_size", min_group_size != plain.min_group_size, kWhy);
    unused("expert_capacity_factor", expert_capacity_factor != plain.expert_capacity_factor, kWhy);
    unused("expert_capacity_dim", expert_capacity_dim != plain.expert_capacity_dim, kWhy);
  }
  if (gating_func == GatingFunc::expert_choice) {
    unused("expert_capacity_dim", expert_capacity_dim != plain.expert_capacity_dim,
           "has no effect with expert_choice, whose experts have a fixed number of places");
  }
  if (gating_func != GatingFunc::top2) {
    unused("aux_loss_weight", aux_loss_weight != plain.aux_loss_weight && aux_loss_weight != 0,
           "has no effect, because only top2 has an auxiliary loss");
  }
}

MoeFeedForward::MoeFeedForward(const Config& config, Scope& scope)
    : path_(scope.path()),
      config_(config),
      input_dims_(expect_set(kMoe, path_, "input_dims", config.input_dims)),
      hidden_dims_(hidden_dims(config)),
      hidden_axis_(hidden_axis(config, scope)),
      gate_(scope.parameter("gate", {input_dims_, config.num_experts}, {.init = config.init})),
      in_(experts_parameter(scope, "in", config, input_dims_, hidden_dims_, hidden_axis_)),
      out_(experts_parameter(scope, "out", config, hidden_dims_, input_dims_, hidden_axis_)),
      wi_gate_(config.use_gated_activation
                   ? &experts_parameter(scope, "wi_gate", config, input_dims_, hidden_dims_,
                                        hidden_axis_)
                   : nullptr),
      activation_(scope.layer("activation", config.activation)),
      dropout_(scope.layer("dropout", dropout(config.relu_dropout))) {}

std::int64_t MoeFeedForward::groups_of(std::int64_t positions) const {
  std::int64_t groups = std::min(config_.num_groups, std::max<std::int64_t>(positions, 1));
  while (groups > 1 && (positions % groups != 0 || positions / groups < config_.min_group_size)) {
    --groups;
  }
  return groups;
}

bool MoeFeedForward::positions_choose() const {
  return config_.gating_func == GatingFunc::top2 || config_.gating_func == GatingFunc::dense_top2;
}

std::int64_t MoeFeedForward::capacity_of(std::int64_t group_size) const {
  if (config_.gating_func == GatingFunc::expert_choice) {
    const std::int64_t share = group_size / config_.num_experts;
    return static_cast<std::int64_t>(static_cast<double>(share) * config_.expert_capacity_factor);
  }
  const auto share =
      static_cast<std::int64_t>(static_cast<double>(group_size) * config_.expert_capacity_factor /
                                static_cast<double>(config_.num_experts));
  if (share <= config_.expert_capacity_dim) return config_.expert_capacity_dim;
  return (share + 3) / 4 * 4;
}

// An activation that is not elementwise gets whole tensors.
Tensor MoeFeedForward::expert_blocks(const Tensor& rows, const Experts& experts,
                                     FpropContext& context) const {
  const std::vector<Tensor> x = ops::fan_out(rows, hidden_axis_);
  const auto products = [&](const Tensor& weights) {
    std::vector<Tensor> y = ops::split_blocks(weights, 2, hidden_axis_);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = ops::matmul(x[i], y[i]);
    return y;
  };
  const auto activate = [&](std::vector<Tensor>& blocks) {
    if (activation_ == nullptr) return;
    if (!plain_activation(activation_.get())) {
      const Tensor whole = ops::gather_blocks(blocks, -1, hidden_axis_);
      blocks = ops::split_blocks(activation_->fprop(whole, context), -1, hidden_axis_);
      return;
    }
    for (Tensor& block : blocks) block = activation_->fprop(block, context);
  };
  std::vector<Tensor> h = products(experts.in);
  if (experts.wi_gate.defined()) {
    std::vector<Tensor> gate = products(experts.wi_gate);
    activate(gate);
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = ops::mul(gate[i], h[i]);
  } else {
    activate(h);
  }
  const std::vector<Tensor> out = ops::split_blocks(experts.out, 1, hidden_axis_);
  for (std::size_t i = 0; i < h.size(); ++i) {
    const BlockKey key(context, hidden_axis_.first() + static_cast<std::int64_t>(i));
    h[i] = ops::matmul(dropped(h[i], i, experts, context), out[i]);
  }
  return ops::sum_blocks(h, hidden_axis_);
}

Tensor MoeFeedForward::compute(const Tensor& rows, const Experts& experts,
                               FpropContext& context) const {
  if (hidden_axis_.is_split()) return expert_blocks(rows, experts, context);
  const auto activated = [&](const Tensor& x) {
    return activation_ ? activation_->fprop(x, context) : x;
  };
  Tensor h = ops::matmul(rows, experts.in);
  h = experts.wi_gate.defined() ? ops::mul(activated(ops::matmul(rows, experts.wi_gate)), h)
                                : activated(h);
  return ops::matmul(dropped(h, 0, experts, context), experts.out);
}

Tensor MoeFeedForward::experts(const Tensor& rows, FpropContext& context) const {
  const RowShare* const share = row_share();
  if (share == nullptr) {
    return compute(rows,
                   {.in = in_.value(),
                    .out = out_.value(),
                    .wi_gate = wi_gate_ != nullptr ? wi_gate_->value() : Tensor()},
                   context);
  }
  const std::vector<std::vector<std::uint64_t>> keys = dropout_keys(*share, rows, context);
  std::vector<Tensor> parts = share->dispatch(rows);
  for (std::size_t shard = 0; shard < parts.size(); ++shard) {
    Experts own{.in = share->rows(in_, shard),
                .out = share->rows(out_, shard),
                .wi_gate = wi_gate_ != nullptr ? share->rows(*wi_gate_, shard) : Tensor(),
                .first = share->first_row(config_.num_experts)};
    for (const auto& of_block : keys) own.keys.emplace_back(of_block[shard]);
    parts[shard] = compute(parts[shard], own, context);
  }
  return share->combine(parts);
}

// Of each block of this process, those of all shards; none without dropout.
std::vector<std::vector<std::uint64_t>> MoeFeedForward::dropout_keys(const RowShare& share,
                                                                     const Tensor& rows,
                                                                     FpropContext& context) const {
  std::vector<std::vector<std::uint64_t>> keys;
  if (dropout_ == nullptr || !context.train) return keys;
  for (std::int64_t block = 0; block < hidden_axis_.count(); ++block) {
    std::optional<BlockKey> of_block;
    if (hidden_axis_.is_split()) of_block.emplace(context, hidden_axis_.first() + block);
    const RngKey own = context.key_for(path_ + "/dropout", "dropout");  // as nn/Dropout has it
    keys.push_back(share.gather(rows.device(), own.value()));
  }
  return keys;
}

// Of some experts what a process that has all of them drops.
Tensor MoeFeedForward::dropped(const Tensor& h, std::size_t block, const Experts& experts,
                               FpropContext& context) const {
  if (dropout_ == nullptr) return h;
  if (experts.keys.empty()) return dropout_->fprop(h, context);
  const std::int64_t before = experts.first * h.dim(1) * h.dim(2);
  return ops::dropout(h, static_cast<float>(config_.relu_dropout), experts.keys[block],
                      static_cast<std::uint64_t>(before));
}

// An activation of a plugin may look at all experts.
const RowShare* MoeFeedForward::row_share() const {
  if (activation_ != nullptr && !plain_activation(activation_.get())) return nullptr;
  return wi_gate_ != nullptr ? RowShare::of({&in_, &out_, wi_gate_}) : RowShare::of({&in_, &out_});
}

Tensor MoeFeedForward::gates(const Tensor& rows, const Tensor& counted) const {
  Tensor logits = ops::matmul(rows, gate_.value());
  if (config_.gating_logit_cap > 0) {
    const auto cap = static_cast<float>(config_.gating_logit_cap);
    logits = ops::mul(ops::tanh(ops::mul(logits, 1 / cap)), cap);
  }
  const Tensor gates = ops::softmax(logits);
  return counted.defined() ? ops::mul(gates, counted) : gates;
}

void MoeFeedForward::add_balance_loss(const Tensor& gates, const std::vector<std::int32_t>& first,
                                      std::span<const float> padding, std::int64_t groups,
                                      FpropContext& context) const {
  const std::int64_t experts = config_.num_experts, size = gates.dim(0) / groups;
  std::vector<float> share(static_cast<std::size_t>(groups * experts));
  for (std::size_t position = 0; position < first.size(); ++position) {
    if (!padding.empty() && padding[position] != 0) continue;
    const std::int64_t group = static_cast<std::int64_t>(position) / size;
    share[static_cast<std::size_t>(group * experts + first[position])] +=
        1 / static_cast<float>(size);
  }
  const Tensor chosen = Tensor::from<float>(gates.device(), share, {groups, experts});
  const Tensor means = ops::mean(ops::reshape(gates, {groups, size, experts}), 1);
  const auto factor =
      static_cast<float>(config_.aux_loss_weight * static_cast<double>(experts * experts));
  context.aux_losses.set(path_, ops::mul(ops::mean(ops::mul(chosen, means)), factor));
}

Tensor MoeFeedForward::combined(const Tensor& rows, const Tensor& gates, const Routes& routes,
                                FpropContext& context) const {
  Device& device = rows.device();
  const Shape seats{config_.num_experts, routes.slots_per_expert, input_dims_};
  const Tensor taken = ops::gather_rows(with_zero_row(rows), indices(device, routes.taken));
  const Tensor given = experts(ops::reshape(taken, seats), context);
  const Tensor done = with_zero_row(ops::reshape(given, taken.shape()));
  Tensor y, total;
  for (const Routes::Choice& choice : routes.choices) {
    const Tensor weight = gates_of(gates, choice.experts);
    const Tensor part = ops::mul(ops::gather_rows(done, indices(device, choice.slots)), weight);
    y = y.defined() ? ops::add(y, part) : part;
    total = total.defined() ? ops::add(total, weight) : weight;
  }
  return positions_choose() ? ops::div(y, ops::add(total, kEpsilon)) : y;
}

Routes MoeFeedForward::routes_of(const Gates& gates, std::int64_t capacity,
                                 const FpropContext& context) const {
  if (!positions_choose()) return expert_choice_routes(gates, capacity);
  if (!context.train || config_.second_expert_policy == SecondExpertPolicy::all) {
    return top2_routes(gates, capacity);
  }
  const bool sampling = config_.second_expert_policy == SecondExpertPolicy::sampling;
  std::vector<float> uniforms(
      static_cast<std::size_t>(sampling ? gates.positions * gates.experts : gates.positions));
  random_uniform(context.key_for(path_, "second_expert"), 0, 1, uniforms);
  return top2_routes(gates, capacity,
                     {config_.second_expert_policy, uniforms,
                      static_cast<float>(config_.second_expert_threshold)});
}

Tensor MoeFeedForward::routed(const Tensor& x, FpropContext& context, Capacity bound) const {
  const bool bounded = bound == Capacity::bounded && config_.gating_func != GatingFunc::dense_top2;
  expect_last(kMoe, path_, x, input_dims_);
  const std::int64_t positions = x.size() / input_dims_;
  if (positions == 0) return x;
  const Tensor rows = ops::reshape(x, {positions, input_dims_});
  std::vector<float> padding;
  Tensor counted;  // [positions, 1]
  if (const Tensor paddings = fitting(context.paddings, x); paddings.defined()) {
    NoGrad no_grad;
    padding = paddings.to_host<float>();
    counted = ops::reshape(ops::add(ops::neg(paddings), 1), {positions, 1});
  }
  const Tensor gates = this->gates(rows, counted);
  const std::vector<float> values = gates.to_host<float>();
  const std::int64_t groups = bounded ? groups_of(positions) : 1;
  const std::int64_t capacity = bounded ? capacity_of(positions / groups) : -1;
  const Gates wanted{values, padding, positions, config_.num_experts, groups};
  const Routes routes = routes_of(wanted, capacity, context);
  if (positions_choose() && bounded && config_.aux_loss_weight > 0) {
    add_balance_loss(gates, routes.choices[0].experts, padding, groups, context);
  }
  if (routes.taken.empty()) return ops::mul(x, 0);
  return ops::reshape(combined(rows, gates, routes, context), x.shape());
}

Tensor MoeFeedForward::fprop(const Tensor& x, FpropContext& context) {
  return routed(x, context, Capacity::bounded);
}

std::vector<Tensor> MoeFeedForward::fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) {
  return fprop_whole(*this, x, cut);
}

const void* MoeFeedForward::extension(std::string_view id) const noexcept {
  if (id == kLayerSequenceBlocks) return static_cast<const SequenceBlocks*>(this);
  return DecodingLayer::extension(id);
}

std::unique_ptr<LayerCache> MoeFeedForward::make_cache(std::int64_t, std::int64_t) const {
  if (positions_choose()) return std::make_unique<NoCache>();
  throw Error(
      "[nn/MoeFeedForward] '" + path_ +
          "': experts that choose among positions see later positions and cannot decode with a "
          "cache",
      {.hint = "use gating_func = \"top2\""});
}

Tensor MoeFeedForward::extend_step(const Tensor& x, LayerCache&, FpropContext& context) {
  return routed(x, context, Capacity::unbounded);
}

}  // namespace trivet::nn
