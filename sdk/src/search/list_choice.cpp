// SPDX-License-Identifier: Apache-2.0
#include "search/list_choice.h"

#include <algorithm>

namespace trivet::search {

std::size_t cells_of(const ListRule& rule, std::size_t candidates, std::size_t slot) {
  return rule.repeats == Repeats::allowed ? candidates : candidates - slot;
}

std::vector<std::size_t> list_at(const ListRule& rule, std::size_t candidates,
                                 std::span<const std::size_t> cells) {
  std::vector<std::size_t> free(candidates), list;
  for (std::size_t i = 0; i < candidates; ++i) free[i] = i;
  for (const std::size_t cell : cells) {
    list.push_back(free[cell]);
    if (rule.repeats == Repeats::refused) {
      free.erase(free.begin() + static_cast<std::ptrdiff_t>(cell));
    }
  }
  if (rule.order == ListOrder::sorted) std::ranges::sort(list);
  return list;
}

std::optional<std::vector<std::size_t>> list_in(const ListRule& rule,
                                                const std::vector<Value>& candidates,
                                                const Value& value) {
  if (!value.is_array() || value.items().size() != rule.size) return std::nullopt;
  std::vector<std::size_t> list;
  for (const Value& item : value.items()) {
    const auto found = std::ranges::find(candidates, item);
    if (found == candidates.end()) return std::nullopt;
    const auto index = static_cast<std::size_t>(found - candidates.begin());
    if (rule.repeats == Repeats::refused && std::ranges::count(list, index) > 0) {
      return std::nullopt;
    }
    list.push_back(index);
  }
  if (rule.order == ListOrder::sorted && !std::ranges::is_sorted(list)) return std::nullopt;
  return list;
}

std::size_t cell_in(const ListRule& rule, std::span<const std::size_t> list, std::size_t slot) {
  const std::size_t own = list[slot];
  if (rule.repeats == Repeats::allowed) return own;
  const auto earlier =
      std::ranges::count_if(list.first(slot), [own](std::size_t one) { return one < own; });
  return own - static_cast<std::size_t>(earlier);
}

}  // namespace trivet::search
