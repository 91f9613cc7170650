// SPDX-License-Identifier: Apache-2.0
// Names of the enumerators that TRIVET_ENUM lists.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "trivet/config.h"

namespace trivet {

// The names of all enumerators, in their order.
template <class E>
constexpr auto enum_names() {
  constexpr auto entries = trivet_enum_entries(detail::Tag<E>{});
  std::array<std::string_view, std::size(entries)> names;
  std::ranges::transform(entries, names.begin(), [](const auto& entry) { return entry.first; });
  return names;
}

template <class E>
constexpr std::string_view enum_name(E value) {
  for (const auto& [name, entry] : trivet_enum_entries(detail::Tag<E>{})) {
    if (entry == value) return name;
  }
  return {};
}

template <class E>
constexpr std::optional<E> enum_from_name(std::string_view text) {
  for (const auto& [name, entry] : trivet_enum_entries(detail::Tag<E>{})) {
    if (name == text) return entry;
  }
  return std::nullopt;
}

}  // namespace trivet
