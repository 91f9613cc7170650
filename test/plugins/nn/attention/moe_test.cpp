// SPDX-License-Identifier: Apache-2.0
// Experts: routing, values and gradients against plain loops in double.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace nn_moe_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::affine;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using trivet::test::Row;
using trivet::test::Rows;

constexpr double kTolerance = 2e-5;
constexpr std::size_t kDims = 4, kHidden = 3, kExperts = 3, kPlaces = 12;

struct Rules {
  bool choose_positions = false;
  std::size_t groups = 1, capacity = 100;
  double cap = 0;
  bool gated = false;
  std::vector<float> padding = std::vector<float>(kPlaces, 0);
  bool balanced = true;  // has an auxiliary loss
  // The second choice in training, or kExperts for none; gates and position.
  std::function<std::size_t(const Row&, std::size_t)> second = {};
};

class Moe : public LayerFixture {
 public:
  Moe(const std::string& backend, std::initializer_list<std::pair<std::string_view, Value>> more)
      : LayerFixture(backend, {"nn/MoeFeedForward", fields(more)}) {
    set("gate", random_values(kDims * kExperts, 17));
  }

  static Value fields(std::initializer_list<std::pair<std::string_view, Value>> more) {
    Value all =
        Value::table({{"input_dims", kDims}, {"hidden_dims", kHidden}, {"num_experts", kExperts}});
    for (const auto& [name, value] : more) all.set(name, value);
    return all;
  }

  Rows gates(const Rows& x, const Rules& rules) const {
    Rows gates;
    for (const Row& row : x) {
      Row g = affine(row, values("gate"), {});
      double total = 0;
      for (double& v : g) {
        if (rules.cap > 0) v = rules.cap * std::tanh(v / rules.cap);
        v = std::exp(v);
        total += v;
      }
      for (double& v : g) v /= total;
      gates.push_back(g);
    }
    return gates;
  }

  Row expert(std::size_t e, const Row& x, const Rules& rules) const {
    const auto own = [&](const std::string& name) {
      const std::vector<float> all = values(name);
      const auto size = static_cast<std::ptrdiff_t>(all.size() / kExperts);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(e) * size;
      return std::vector<float>(begin, begin + size);
    };
    Row h = affine(x, own("in"), {});
    const Row gate = rules.gated ? affine(x, own("wi_gate"), {}) : h;
    for (std::size_t i = 0; i < h.size(); ++i) {
      h[i] = rules.gated ? std::max(gate[i], 0.0) * h[i] : std::max(h[i], 0.0);
    }
    return affine(h, own("out"), {});
  }

  // kept[position][e]: expert e takes the position.
  std::vector<std::vector<bool>> kept(const Rows& g, const Rules& rules) const {
    std::vector<std::vector<bool>> kept(g.size(), std::vector<bool>(kExperts));
    const std::size_t size = g.size() / rules.groups;
    for (std::size_t first = 0; first < g.size(); first += size) {
      std::vector<std::size_t> count(kExperts);
      const auto take = [&](std::size_t position, std::size_t e) {
        if (count[e]++ < rules.capacity) kept[position][e] = true;
      };
      if (!rules.choose_positions) {
        for (std::size_t rank = 0; rank < 2; ++rank) {
          for (std::size_t s = first; s < first + size; ++s) {
            const std::size_t e = choice(g[s], s, rank, rules);
            if (rules.padding[s] == 0 && e < kExperts) take(s, e);
          }
        }
        continue;
      }
      for (std::size_t e = 0; e < kExperts; ++e) {
        std::vector<std::size_t> positions;
        for (std::size_t s = first; s < first + size; ++s) {
          if (rules.padding[s] == 0) positions.push_back(s);
        }
        std::sort(positions.begin(), positions.end(),
                  [&](std::size_t a, std::size_t b) { return g[a][e] > g[b][e]; });
        for (const std::size_t position : positions) take(position, e);
      }
    }
    return kept;
  }

  static std::size_t choice(const Row& gates, std::size_t s, std::size_t rank, const Rules& rules) {
    return rank == 1 && rules.second ? rules.second(gates, s) : order(gates)[rank];
  }

  static std::vector<std::size_t> order(const Row& gates) {
    std::vector<std::size_t> experts(gates.size());
    std::iota(experts.begin(), experts.end(), 0);
    std::sort(experts.begin(), experts.end(),
              [&](std::size_t a, std::size_t b) { return gates[a] > gates[b]; });
    return experts;
  }

  std::vector<double> wanted(const Rows& x, const Rules& rules) const {
    const Rows g = gates(x, rules);
    const auto taken = kept(g, rules);
    std::vector<double> y;
    for (std::size_t s = 0; s < x.size(); ++s) {
      const auto experts = order(g[s]);
      const std::size_t second = choice(g[s], s, 1, rules);
      const double both = g[s][experts[0]] + g[s][second < kExperts ? second : experts[1]] + 1e-9;
      Row sum(kDims, 0.0);
      for (std::size_t e = 0; e < kExperts; ++e) {
        if (!taken[s][e]) continue;
        const Row part = expert(e, x[s], rules);
        const double weight = rules.choose_positions ? g[s][e] : g[s][e] / both;
        for (std::size_t d = 0; d < kDims; ++d) sum[d] += weight * part[d];
      }
      y.insert(y.end(), sum.begin(), sum.end());
    }
    return y;
  }

  // GShard's: E^2 mean over groups and experts of the share of first choices times the mean gate.
  double wanted_loss(const Rows& x, const Rules& rules) const {
    const Rows g = gates(x, rules);
    const std::size_t size = g.size() / rules.groups;
    double sum = 0;
    for (std::size_t first = 0; first < g.size(); first += size) {
      for (std::size_t e = 0; e < kExperts; ++e) {
        double chosen = 0, mean = 0;
        for (std::size_t s = first; s < first + size; ++s) {
          if (rules.padding[s] != 0) continue;
          chosen += order(g[s])[0] == e ? 1.0 / static_cast<double>(size) : 0;
          mean += g[s][e] / static_cast<double>(size);
        }
        sum += chosen * mean;
      }
    }
    return static_cast<double>(kExperts * kExperts) * sum /
           static_cast<double>(kExperts * rules.groups);
  }

  void check(const Rules& rules) const {
    const std::vector<float> values = random_values(kPlaces * kDims, 3);
    const Rows x = trivet::test::sequences(values, kPlaces, kDims)[0];
    FpropContext context;
    if (rules.padding != std::vector<float>(kPlaces, 0)) {
      context.paddings = tensor(rules.padding, {2, 6});
    }
    context.train = static_cast<bool>(rules.second);
    const Tensor y = layer().fprop(tensor(values, {2, 6, kDims}), context);
    CHECK(y.shape() == trivet::Shape{2, 6, kDims});
    CHECK(largest_error(y.to_host<float>(), wanted(x, rules)) < kTolerance);
    const bool balanced = rules.balanced && !rules.choose_positions;
    CHECK(context.aux_losses.size() == (balanced ? 1 : 0));
    if (!balanced) return;
    CHECK(static_cast<double>(context.aux_losses.at("layer").item()) ==
          Approx(wanted_loss(x, rules)).epsilon(kTolerance));
  }
};

const std::vector<float> kPadding{0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0};

// Adds the auxiliary losses, so that a gradient check sees them.
class WithAux final : public trivet::Layer {
 public:
  explicit WithAux(trivet::Layer& layer) : layer_(layer) {}
  Tensor fprop(const Tensor& x, FpropContext& context) override {
    Tensor y = layer_.fprop(x, context);
    for (const auto& [name, loss] : context.aux_losses) y = trivet::ops::add(y, loss);
    return y;
  }

 private:
  trivet::Layer& layer_;
};

}  // namespace

TEST_CASE("each position is routed to the two experts with the largest gates") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  // 12 positions: int(12 * 5 / 3) = 20, as many as there can be.
  Moe(backend, {{"expert_capacity_factor", 5.0}}).check({});
  Moe(backend,
      {{"expert_capacity_factor", 5.0}, {"use_gated_activation", true}, {"gating_logit_cap", 0.5}})
      .check({.cap = 0.5, .gated = true});
  Moe(backend, {{"expert_capacity_factor", 5.0}}).check({.padding = kPadding});
}

TEST_CASE("experts that are full drop the later positions") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  // int(12 * 0.5 / 3) = 2, rounded up to 4.
  Moe(backend, {{"expert_capacity_factor", 0.5}}).check({.capacity = 4});
  Moe(backend, {{"expert_capacity_factor", 0.5}}).check({.capacity = 4, .padding = kPadding});
  // int(6 * 0.5 / 3) = 1, less than the minimum of each, which is not rounded.
  Moe(backend, {{"expert_capacity_factor", 0.5}, {"num_groups", 2}, {"expert_capacity_dim", 3}})
      .check({.groups = 2, .capacity = 3});
  // 5 groups do not divide 12 positions, 4 are too small.
  Moe(backend, {{"expert_capacity_factor", 0.5},
                {"num_groups", 5},
                {"min_group_size", 4},
                {"expert_capacity_dim", 2}})
      .check({.groups = 3, .capacity = 2});
  // int(12 * 0.01 / 3) = 0: no expert takes a position.
  const Moe none(backend, {{"expert_capacity_factor", 0.01}});
  none.check({.capacity = 0});
}

TEST_CASE("experts choose positions if configured") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  Moe(backend, {{"gating_func", "expert_choice"}, {"expert_capacity_factor", 1.0}})
      .check({.choose_positions = true, .capacity = 4});
  Moe(backend, {{"gating_func", "expert_choice"}, {"num_groups", 2}})
      .check({.choose_positions = true, .groups = 2, .capacity = 4, .padding = kPadding});
}

TEST_CASE("the versions of experts that choose differ in their places") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  // int((12 div 3) * 0.5) = 2, and int(12 * 0.5 / 3) = 2 rounded up to 4.
  Moe(backend, {{"gating_func", "expert_choice"}, {"expert_capacity_factor", 0.5}})
      .check({.choose_positions = true, .capacity = 2, .padding = kPadding});
  Moe(backend, {{"gating_func", "expert_choice_v2"}, {"expert_capacity_factor", 0.5}})
      .check({.choose_positions = true, .capacity = 4, .padding = kPadding});
  Moe(backend, {{"gating_func", "expert_choice_v2"},
                {"expert_capacity_factor", 0.5},
                {"expert_capacity_dim", 3}})
      .check({.choose_positions = true, .capacity = 3});
  // int(12 * 0.8 / 3) = 3; int(4 * 0.8) = 3, which is not rounded.
  Moe(backend, {{"gating_func", "expert_choice"}, {"expert_capacity_factor", 0.8}})
      .check({.choose_positions = true, .capacity = 3});
}

TEST_CASE("dense_top2 has no limit and no auxiliary loss") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  Moe(backend, {{"gating_func", "dense_top2"}}).check({.balanced = false});
  Moe(backend, {{"gating_func", "dense_top2"}, {"use_gated_activation", true}})
      .check({.gated = true, .padding = kPadding, .balanced = false});
}

TEST_CASE("second experts are drawn in training") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto draws = [](std::size_t n) {
    std::vector<float> u(n);
    trivet::random_uniform(FpropContext().key_for("layer", "second_expert"), 0, 1, u);
    return std::vector<double>(u.begin(), u.end());
  };
  // Mesh TensorFlow's: Gumbel noise on the logits of the others.
  const auto sampled = [u = draws(kPlaces * kExperts)](const Row& gates, std::size_t s) {
    std::size_t most = kExperts;
    double best = 0;
    for (const std::size_t e : Moe::order(gates)) {
      const double score = std::log(gates[e]) - std::log(-std::log(u[s * kExperts + e]));
      if (e == Moe::order(gates)[0] || (most < kExperts && score <= best)) continue;
      most = e;
      best = score;
    }
    return most;
  };
  Moe(backend, {{"second_expert_policy", "sampling"}, {"expert_capacity_factor", 5.0}})
      .check({.second = sampled});
  Moe(backend, {{"second_expert_policy", "sampling"}, {"expert_capacity_factor", 0.5}})
      .check({.capacity = 4, .padding = kPadding, .second = sampled});
  // GShard's algorithm 2: used where 2 g2 > u, of the normalized gate.
  for (const double threshold : {0.5, 0.9, 1e-9}) {
    const auto random = [u = draws(kPlaces), threshold](const Row& gates, std::size_t s) {
      const auto order = Moe::order(gates);
      const double share = gates[order[1]] / (gates[order[0]] + gates[order[1]]);
      return share > u[s] * threshold ? order[1] : kExperts;
    };
    Moe(backend, {{"second_expert_policy", "random"},
                  {"second_expert_threshold", threshold},
                  {"expert_capacity_factor", 5.0}})
        .check({.second = random});
  }
  // Evaluation draws nothing.
  Moe(backend, {{"second_expert_policy", "sampling"}, {"expert_capacity_factor", 5.0}}).check({});
  Moe(backend, {{"second_expert_policy", "random"}, {"expert_capacity_factor", 5.0}}).check({});
}

TEST_CASE("fields of experts without effect are errors") {
  const auto says = [](std::initializer_list<std::pair<std::string_view, Value>> fields,
                       const char* field) {
    CHECK_THROWS_WITH(Moe("tiny/Backend", fields), Contains(field) && Contains("effect"));
  };
  says({{"gating_func", "expert_choice"}, {"second_expert_policy", "random"}},
       "second_expert_policy");
  says({{"second_expert_threshold", 0.25}}, "second_expert_threshold");
  says({{"gating_func", "dense_top2"}, {"num_groups", 2}}, "num_groups");
  says({{"gating_func", "dense_top2"}, {"expert_capacity_factor", 1.0}}, "expert_capacity_factor");
  says({{"gating_func", "expert_choice"}, {"expert_capacity_dim", 2}}, "expert_capacity_dim");
  says({{"gating_func", "expert_choice_v2"}, {"aux_loss_weight", 0.5}}, "aux_loss_weight");
}

TEST_CASE("gradients of experts and of their auxiliary loss match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  using Rule = std::pair<std::string, std::string>;
  const auto [gating, policy] = GENERATE(
      Rule("top2", "all"), Rule("top2", "sampling"), Rule("top2", "random"),
      Rule("expert_choice", "all"), Rule("expert_choice_v2", "all"), Rule("dense_top2", "all"));
  INFO(backend << " " << gating << " " << policy);
  // No gate is so close to its draw that a difference would change the choice.
  const Moe moe(backend, {{"gating_func", gating},
                          {"second_expert_policy", policy},
                          {"second_expert_threshold", policy == "random" ? 2.0 : 0.5},
                          {"expert_capacity_factor", gating == "dense_top2" ? 2 : 0.5},
                          {"activation", "nn/Tanh"},
                          {"use_gated_activation", true}});
  WithAux layer(moe.layer());
  const Tensor x = moe.tensor(random_values(kPlaces * kDims, 3), {2, 6, kDims});
  trivet::testing::LayerCheckOptions options;
  options.train = true;
  CHECK(trivet::testing::check_layer_gradients(layer, moe.store(), x, options) == "");
}

TEST_CASE("experts decode with a cache and drop nothing") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool dense = GENERATE(false, true);
  const Moe moe(backend, {{"gating_func", dense ? "dense_top2" : "top2"},
                          {"expert_capacity_factor", dense ? 2.0 : 5.0}});
  const Tensor x = moe.tensor(random_values(kPlaces * kDims, 3), {2, 6, kDims});
  const auto cache = trivet::make_cache(moe.layer(), "layer", 2, 6);
  std::vector<Tensor> parts;
  FpropContext context;
  for (const std::int64_t at : {0, 3, 4, 5}) {
    const std::int64_t end = at == 0 ? 3 : at + 1;
    parts.push_back(
        trivet::extend_step(moe.layer(), trivet::ops::slice(x, 1, at, end), cache.get(), context));
  }
  CHECK(largest_error(trivet::ops::concat(parts, 1).to_host<float>(),
                      moe.fprop(x).to_host<float>()) < 1e-5);
  const Moe choosing(backend, {{"gating_func", GENERATE("expert_choice", "expert_choice_v2")}});
  CHECK_THROWS_WITH(trivet::make_cache(choosing.layer(), "layer", 2, 6),
                    Contains("'layer': experts that choose among positions"));
}

TEST_CASE("blocks have experts instead of an Mlp") {
  const LayerFixture block(
      "tiny/Backend",
      {"nn/TransformerBlock", Value::table({{"input_dims", 4},
                                            {"num_heads", 2},
                                            {"hidden_dims", 6},
                                            {"ffn_tpl", Value::table({{"type", "nn/MoeFeedForward"},
                                                                      {"num_experts", 2}})}})});
  CHECK(block.parameter("feed_forward/in").shape() == trivet::Shape{2, 4, 6});
  FpropContext context;
  block.layer().fprop(block.tensor(random_values(24, 1), {2, 3, 4}), context);
  CHECK(context.aux_losses.contains("layer/feed_forward"));
}

TEST_CASE("experts report mismatched inputs, and accept an empty batch") {
  const Moe moe("tiny/Backend", {});
  CHECK_THROWS_WITH(moe.fprop(Tensor::zeros(moe.device(), {2, 3})),
                    Contains("[nn/MoeFeedForward] 'layer': expected [.., 4]"));
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend", {"nn/MoeFeedForward", Value::table({{"num_experts", 2}})}),
      Contains("'layer': input_dims is not set"));
  CHECK_THROWS_WITH(Moe("tiny/Backend", {{"num_experts", 1}}), Contains("num_experts"));
  CHECK(moe.fprop(Tensor::zeros(moe.device(), {0, 5, kDims})).shape() ==
        trivet::Shape{0, 5, kDims});
}

}  // namespace nn_moe_test
