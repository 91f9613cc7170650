// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/moe_routing.h"

#include <algorithm>
#include <utility>

namespace trivet::nn {
namespace {

constexpr std::int32_t kNone = -1;

bool padded(const Gates& gates, std::int64_t place) {
  return !gates.padding.empty() && gates.padding[static_cast<std::size_t>(place)] != 0;
}

float gate(const Gates& gates, std::int64_t place, std::int64_t expert) {
  return gates.values[static_cast<std::size_t>(place * gates.experts + expert)];
}

// The expert with the largest gate, other than `without`.
std::int32_t best(const Gates& gates, std::int64_t place, std::int32_t without) {
  std::int32_t found = kNone;
  for (std::int32_t e = 0; e < gates.experts; ++e) {
    if (e == without) continue;
    if (found == kNone || gate(gates, place, e) > gate(gates, place, found)) found = e;
  }
  return found;
}

// The queues of places in front of each expert, group by group.
class Queues {
 public:
  explicit Queues(const Gates& gates)
      : gates_(gates), queues_(static_cast<std::size_t>(gates.groups * gates.experts)) {}

  std::vector<std::int32_t>& of(std::int64_t group, std::int64_t expert) {
    return queues_[static_cast<std::size_t>(group * gates_.experts + expert)];
  }
  std::int64_t group_of(std::int64_t place) const {
    return place / (gates_.places / gates_.groups);
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

// Slots for `capacity` places of each group; `taken` says who is in them.
Routes seated(const Gates& gates, Queues& queues, std::int64_t capacity) {
  Routes routes;
  routes.slots_per_expert = gates.groups * capacity;
  routes.taken.assign(static_cast<std::size_t>(gates.experts * routes.slots_per_expert),
                      static_cast<std::int32_t>(gates.places));
  for (std::int64_t e = 0; e < gates.experts; ++e) {
    for (std::int64_t g = 0; g < gates.groups; ++g) {
      const auto& queue = queues.of(g, e);
      std::ranges::copy(queue, routes.taken.begin() + (e * gates.groups + g) * capacity);
    }
  }
  return routes;
}

// A choice of each place and the slot where the chosen expert has it.
void add_choice(Routes& routes, const Gates& gates, std::vector<std::int32_t> experts) {
  const auto none = static_cast<std::int32_t>(routes.taken.size());
  Routes::Choice choice{std::move(experts),
                        std::vector<std::int32_t>(static_cast<std::size_t>(gates.places), none)};
  for (std::int32_t slot = 0; slot < none; ++slot) {
    const std::int32_t place = routes.taken[static_cast<std::size_t>(slot)];
    if (place == gates.places) continue;
    const auto at = static_cast<std::size_t>(place);
    if (choice.experts[at] == slot / routes.slots_per_expert) choice.slots[at] = slot;
  }
  for (std::int32_t& expert : choice.experts) expert = std::max(expert, 0);
  routes.choices.push_back(std::move(choice));
}

}  // namespace

Routes top2_routes(const Gates& gates, std::int64_t capacity) {
  const auto places = static_cast<std::size_t>(gates.places);
  std::vector<std::int32_t> chosen[2] = {std::vector<std::int32_t>(places, kNone),
                                         std::vector<std::int32_t>(places, kNone)};
  Queues queues(gates);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t place = 0; place < gates.places; ++place) {
      if (padded(gates, place)) continue;
      const auto at = static_cast<std::size_t>(place);
      chosen[round][at] = best(gates, place, round == 0 ? kNone : chosen[0][at]);
      auto& queue = queues.of(queues.group_of(place), chosen[round][at]);
      if (capacity < 0 || static_cast<std::int64_t>(queue.size()) < capacity) {
        queue.push_back(static_cast<std::int32_t>(place));
      }
    }
  }
  Routes routes = seated(gates, queues, capacity < 0 ? queues.longest() : capacity);
  for (auto& experts : chosen) add_choice(routes, gates, std::move(experts));
  return routes;
}

Routes expert_choice_routes(const Gates& gates, std::int64_t capacity) {
  const std::int64_t size = gates.places / gates.groups;
  Queues queues(gates);
  for (std::int64_t g = 0; g < gates.groups; ++g) {
    for (std::int64_t e = 0; e < gates.experts; ++e) {
      std::vector<std::int32_t> order;
      for (std::int64_t place = g * size; place < (g + 1) * size; ++place) {
        if (!padded(gates, place)) order.push_back(static_cast<std::int32_t>(place));
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
    add_choice(routes, gates, std::vector<std::int32_t>(static_cast<std::size_t>(gates.places), e));
  }
  return routes;
}

}  // namespace trivet::nn
