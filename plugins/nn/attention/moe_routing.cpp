// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/moe_routing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace trivet::nn {
namespace {

constexpr std::int32_t kNone = -1;

bool padded(const Gates& gates, std::int64_t position) {
  return !gates.padding.empty() && gates.padding[static_cast<std::size_t>(position)] != 0;
}

float gate(const Gates& gates, std::int64_t position, std::int64_t expert) {
  return gates.values[static_cast<std::size_t>(position * gates.experts + expert)];
}

// The expert with the largest gate, excluding `without`.
std::int32_t best(const Gates& gates, std::int64_t position, std::int32_t without) {
  std::int32_t found = kNone;
  for (std::int32_t e = 0; e < gates.experts; ++e) {
    if (e == without) continue;
    if (found == kNone || gate(gates, position, e) > gate(gates, position, found)) found = e;
  }
  return found;
}

// An expert other than `first`, drawn by the gates of these: the largest of log(gate) and a number
// of the standard Gumbel distribution, -log(-log(u)).
std::int32_t sampled(const Gates& gates, std::int64_t position, std::int32_t first,
                     std::span<const float> uniforms) {
  std::int32_t found = kNone;
  double most = 0;
  for (std::int32_t e = 0; e < gates.experts; ++e) {
    if (e == first) continue;
    const auto at = static_cast<std::size_t>(position * gates.experts + e);
    constexpr double kLeast = std::numeric_limits<float>::min();  // log(0) is not finite
    const double u = std::max(static_cast<double>(uniforms[at]), kLeast);
    const double g = std::max(static_cast<double>(gates.values[at]), kLeast);
    const double score = std::log(g) - std::log(-std::log(u));
    if (found == kNone || score > most) {
      found = e;
      most = score;
    }
  }
  return found;
}

// Whether the second expert is used: with probability gate / threshold, of its normalized gate.
bool used(const Gates& gates, std::int64_t position, std::int32_t first, std::int32_t second,
          const SecondExpert& rule) {
  if (rule.policy != SecondExpertPolicy::random) return true;
  const float g1 = gate(gates, position, first), g2 = gate(gates, position, second);
  const float share = g2 / (g1 + g2 + 1e-9F);
  return rule.uniforms[static_cast<std::size_t>(position)] * rule.threshold < share;
}

// The queue of positions for each expert, group by group.
class Queues {
 public:
  explicit Queues(const Gates& gates)
      : gates_(gates), queues_(static_cast<std::size_t>(gates.groups * gates.experts)) {}

  std::vector<std::int32_t>& of(std::int64_t group, std::int64_t expert) {
    return queues_[static_cast<std::size_t>(group * gates_.experts + expert)];
  }
  std::int64_t group_of(std::int64_t position) const {
    return position / (gates_.positions / gates_.groups);
  }
  std::int64_t longest() const {
    std::size_t most = 0;
    for (const auto& queue : queues_) most = std::max(most, queue.size());
    return static_cast<std::int64_t>(most);
  }

 private:
  const Gates& gates_;
  std::vector<std::vector<std::int32_t>> queues_;
};

// Slots for `capacity` positions of each group; `taken` lists the positions in them.
Routes seated(const Gates& gates, Queues& queues, std::int64_t capacity) {
  Routes routes;
  routes.slots_per_expert = gates.groups * capacity;
  routes.taken.assign(static_cast<std::size_t>(gates.experts * routes.slots_per_expert),
                      static_cast<std::int32_t>(gates.positions));
  for (std::int64_t e = 0; e < gates.experts; ++e) {
    for (std::int64_t g = 0; g < gates.groups; ++g) {
      const auto& queue = queues.of(g, e);
      std::ranges::copy(queue, routes.taken.begin() + (e * gates.groups + g) * capacity);
    }
  }
  return routes;
}

// Adds one choice of each position and its slot at the chosen expert.
void add_choice(Routes& routes, const Gates& gates, std::vector<std::int32_t> experts) {
  const auto none = static_cast<std::int32_t>(routes.taken.size());
  Routes::Choice choice{std::move(experts),
                        std::vector<std::int32_t>(static_cast<std::size_t>(gates.positions), none)};
  for (std::int32_t slot = 0; slot < none; ++slot) {
    const std::int32_t position = routes.taken[static_cast<std::size_t>(slot)];
    if (position == gates.positions) continue;
    const auto at = static_cast<std::size_t>(position);
    if (choice.experts[at] == slot / routes.slots_per_expert) choice.slots[at] = slot;
  }
  for (std::int32_t& expert : choice.experts) expert = std::max(expert, 0);
  routes.choices.push_back(std::move(choice));
}

}  // namespace

Routes top2_routes(const Gates& gates, std::int64_t capacity, const SecondExpert& second) {
  const auto positions = static_cast<std::size_t>(gates.positions);
  std::vector<std::int32_t> chosen[2] = {std::vector<std::int32_t>(positions, kNone),
                                         std::vector<std::int32_t>(positions, kNone)};
  Queues queues(gates);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t position = 0; position < gates.positions; ++position) {
      if (padded(gates, position)) continue;
      const auto at = static_cast<std::size_t>(position);
      const std::int32_t first = round == 0 ? kNone : chosen[0][at];
      const bool draw = round == 1 && second.policy == SecondExpertPolicy::sampling;
      chosen[round][at] =
          draw ? sampled(gates, position, first, second.uniforms) : best(gates, position, first);
      if (round == 1 && !used(gates, position, first, chosen[1][at], second)) continue;
      auto& queue = queues.of(queues.group_of(position), chosen[round][at]);
      if (capacity < 0 || static_cast<std::int64_t>(queue.size()) < capacity) {
        queue.push_back(static_cast<std::int32_t>(position));
      }
    }
  }
  // One slot where all is padding: processes that share experts compute the same ops.
  Routes routes =
      seated(gates, queues, capacity < 0 ? std::max(queues.longest(), std::int64_t{1}) : capacity);
  for (auto& experts : chosen) add_choice(routes, gates, std::move(experts));
  return routes;
}

Routes expert_choice_routes(const Gates& gates, std::int64_t capacity) {
  const std::int64_t size = gates.positions / gates.groups;
  Queues queues(gates);
  for (std::int64_t g = 0; g < gates.groups; ++g) {
    for (std::int64_t e = 0; e < gates.experts; ++e) {
      std::vector<std::int32_t> order;
      for (std::int64_t position = g * size; position < (g + 1) * size; ++position) {
        if (!padded(gates, position)) order.push_back(static_cast<std::int32_t>(position));
      }
      std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
        return gate(gates, a, e) > gate(gates, b, e);
      });
      const auto most = static_cast<std::size_t>(capacity < 0 ? size : capacity);
      order.resize(std::min(order.size(), most));
      queues.of(g, e) = std::move(order);
    }
  }
  Routes routes = seated(gates, queues, capacity < 0 ? size : capacity);
  for (std::int32_t e = 0; e < gates.experts; ++e) {
    add_choice(routes, gates,
               std::vector<std::int32_t>(static_cast<std::size_t>(gates.positions), e));
  }
  return routes;
}

}  // namespace trivet::nn
