// SPDX-License-Identifier: Apache-2.0
// MoeFeedForward: a feed-forward part with experts; each position uses a few of them (Shazeer et
// al. 2017, GShard: Lepikhin et al. 2021), x [B, T, input_dims] -> the same shape.
//
//   gates = softmax(x "gate");  expert e: f_e(x) = activation(x in_e) out_e,
//   or, with use_gated_activation, (activation(x wi_gate_e) * (x in_e)) out_e.
//
// The positions of a batch are cut into num_groups groups of S. Each expert takes at most C = int(S
// * expert_capacity_factor / num_experts) positions of a group, at least expert_capacity_dim, and a
// multiple of 4 where the former is larger.
//
// top2 (gating_func): y = (g1 f_1(x) + g2 f_2(x)) / (g1 + g2 + 1e-9) of the two experts with the
//   largest gates. First choices are served in the order of the positions, then second choices. A
//   choice whose expert is full is dropped and contributes 0. The auxiliary loss, in aux_losses
//   under the layer's path, is
//   aux_loss_weight * E^2 mean_e(mean_s(e is first choice of s) mean_s(gates_se)),
//   mean over groups, with choices counted before any is dropped: 1 if all experts are used alike.
// dense_top2: the same y, with no groups, no limit C and no auxiliary loss.
// expert_choice: each expert takes the C positions of a group with its largest gates (Zhou et al.
//   2022), and y = sum_e gates_e f_e(x) over the experts that took the position. C = int((S div
//   num_experts) * expert_capacity_factor). A position then depends on later ones, so this is for
//   encoders, not for language models.
// expert_choice_v2: the same with the C of top2.
//
// second_expert_policy says which second experts top2 uses in training; evaluation and decoding
// use all of them, the largest gates:
//   all: the largest gate that is left.
//   sampling: an expert drawn with its gate's share of the gates that are left.
//   random: the largest gate that is left, with probability min(1, g2 / (g1 + g2 + 1e-9) /
//     second_expert_threshold); otherwise none, and g1 / (g1 + g2 + 1e-9) stays as it is. The
//     default 0.5 is the rule of GShard.
//
// Padding (the context's paddings) is not routed, does not count, and returns 0.
//
// With a `weight_split_dims_mapping` whose emh and ehm name an axis of the batch for num_experts,
// such as data, processes that have parts of the weights and one shard each compute with the
// experts that they have, for all shards (trivet/layer/row_share.h). Bits do not depend on it. Not
// so where processes do not divide num_experts, or have one each.
//
// With a `weight_split_dims_mapping` whose emh and ehm name mdl for hidden_dims, on a mesh with
// several devices along it, each device has hidden_dims / devices of every expert, as in
// nn/FeedForward; their outputs are added. Gates and routes are whole.
//
// Of blocks of positions over seq (trivet/layer/sequence_blocks.h) it gathers all positions, as
// groups and capacity are of the whole; each device computes the layer.
//
// Parameters: "gate" [input_dims, num_experts]; "in", "wi_gate" (gated) [num_experts, input_dims,
// hidden_dims]; "out" [num_experts, hidden_dims, input_dims]; each expert is initialized like
// nn/Linear. The host makes the choices. top2 and dense_top2 decode with a cache
// (trivet/layer/extend_step.h) and then drop nothing; the result equals fprop's if fprop drops
// nothing. Field names are those of Praxis' TransformerFeedForwardMoe, which differs:
//   expert_choice lets experts take padding;
//   the experts that choose, and dense_top2, ignore gating_logit_cap;
//   dense_top2 takes further experts of equal gates;
//   random always uses the second expert, as its threshold is fixed at 0;
//   sampling and random draw in evaluations, too.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/attention/moe_routing.h"
#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"
#include "trivet/layer/sequence_blocks.h"
#include "trivet/layer/split_dims.h"
#include "trivet/tensor/mesh_axis.h"

namespace trivet {

class RowShare;  // trivet/layer/row_share.h

}  // namespace trivet

namespace trivet::nn {

enum class GatingFunc { top2, dense_top2, expert_choice, expert_choice_v2 };
TRIVET_ENUM(GatingFunc, top2, dense_top2, expert_choice, expert_choice_v2)

struct MoeSplitConfig {
  SplitDims emh;
  SplitDims ehm;

  void validate(Diagnostics& diagnostics) const {
    emh.check_rank(3, "emh", diagnostics);
    ehm.check_rank(3, "ehm", diagnostics);
  }
};
TRIVET_CONFIG(MoeSplitConfig, trivet::NoBase,
              (emh,
               "Axes of num_experts, input_dims and hidden_dims of the experts' first products, "
               "such as [\"data\", -1, \"mdl\"]; mdl splits hidden_dims only."),
              (ehm,
               "Axes of num_experts, hidden_dims and input_dims of their last product, such as "
               "[\"data\", \"mdl\", -1]; mdl as in emh."))

struct MoeFeedForwardConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t hidden_dims = 0;
  std::int64_t num_experts = 0;
  GatingFunc gating_func = GatingFunc::top2;
  SecondExpertPolicy second_expert_policy = SecondExpertPolicy::all;
  double second_expert_threshold = 0.5;
  std::int64_t num_groups = 1;
  std::int64_t min_group_size = 0;
  double expert_capacity_factor = 2;
  std::int64_t expert_capacity_dim = 0;
  double gating_logit_cap = 0;
  double aux_loss_weight = 1;
  ConfigOf<Layer> activation = "nn/Relu";
  bool use_gated_activation = false;
  double relu_dropout = 0;
  InitConfig init;
  MoeSplitConfig weight_split_dims_mapping;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    MoeFeedForwardConfig, trivet::LayerConfig,
    (input_dims, "Depth of the input and of the output; 0 in a template: as the layer around it.",
     at_least(0)),
    (hidden_dims, "Depth inside an expert; 0: 4 * input_dims.", at_least(0)),
    (num_experts, "Number of experts.", required, at_least(2)),
    (gating_func, "Gating: tokens choose experts, or experts choose tokens."),
    (second_expert_policy, "Choice of the second experts that top2 uses in training.", adjustable),
    (second_expert_threshold,
     "Share of the two gates from which policy random always uses the second expert.", more_than(0),
     adjustable),
    (num_groups, "Groups that a batch is cut into; fewer where it does not divide the positions.",
     at_least(1), adjustable),
    (min_group_size,
     "Minimum number of positions in a group. A smaller batch is cut into fewer groups.",
     at_least(0), adjustable),
    (expert_capacity_factor, "Positions an expert takes, as a multiple of its share.", more_than(0),
     adjustable),
    (expert_capacity_dim, "Positions an expert takes at least.", at_least(0), adjustable),
    (gating_logit_cap, "Bounds the logits of the gates to c tanh(x / c); 0: no bound.",
     at_least(0)),
    (aux_loss_weight, "Factor of the auxiliary loss of top2; 0: none.", at_least(0), adjustable),
    (activation, "Activation inside the experts."),
    (use_gated_activation, "Activates a second product, which multiplies the first."),
    (relu_dropout, "Share of the elements inside the experts dropped in training.", at_least(0),
     less_than(1), adjustable),
    (init, "Initializer of the weights. Default: that of nn/Linear."),
    (weight_split_dims_mapping, "Axes of the mesh over which the weights are split.", adjustable))

class MoeFeedForward final : public DecodingLayer, public SequenceBlocks {
 public:
  using Config = MoeFeedForwardConfig;
  MoeFeedForward(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;
  std::vector<Tensor> fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  std::int64_t groups_of(std::int64_t positions) const;
  std::int64_t capacity_of(std::int64_t group_size) const;
  enum class Capacity { bounded, unbounded };  // of an expert
  bool positions_choose() const;
  Routes routes_of(const Gates& gates, std::int64_t capacity, const FpropContext& context) const;
  Tensor routed(const Tensor& x, FpropContext& context, Capacity bound) const;
  Tensor experts(const Tensor& rows, FpropContext& context) const;  // [E, n, D] -> the same
  struct Experts {
    Tensor in, out, wi_gate{};
    std::int64_t first = 0;      // of all
    std::vector<RngKey> keys{};  // of dropout, by block; none: those of the context
  };
  std::vector<std::vector<std::uint64_t>> dropout_keys(const RowShare& share, const Tensor& rows,
                                                       FpropContext& context) const;
  Tensor dropped(const Tensor& h, std::size_t block, const Experts& experts,
                 FpropContext& context) const;
  Tensor compute(const Tensor& rows, const Experts& experts, FpropContext& context) const;
  // hidden_dims / devices of the experts.
  Tensor expert_blocks(const Tensor& rows, const Experts& experts, FpropContext& context) const;
  const RowShare* row_share() const;
  // [positions, E]; `counted` [positions, 1] is 0 for padding, or undefined.
  Tensor gates(const Tensor& rows, const Tensor& counted) const;
  Tensor combined(const Tensor& rows, const Tensor& gates, const Routes& routes,
                  FpropContext& context) const;
  void add_balance_loss(const Tensor& gates, const std::vector<std::int32_t>& first,
                        std::span<const float> padding, std::int64_t groups,
                        FpropContext& context) const;

  std::string path_;
  MoeFeedForwardConfig config_;
  std::int64_t input_dims_, hidden_dims_;
  MeshAxis hidden_axis_;
  Parameter &gate_, &in_, &out_;
  Parameter* wi_gate_;
  std::shared_ptr<Layer> activation_, dropout_;
};

}  // namespace trivet::nn
