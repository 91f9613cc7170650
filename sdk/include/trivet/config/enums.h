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

namespace detail {

// "a, b or c", as an array that a constant can hold.
template <class E>
struct EnumList {
  static constexpr std::size_t kSize = [] {
    constexpr auto names = enum_names<E>();
    std::size_t size = names.size() > 1 ? std::string_view(" or ").size() : 0;
    for (const std::string_view name : names) size += name.size();
    return size + (names.size() > 2 ? 2 * (names.size() - 2) : 0);
  }();
  static constexpr std::array<char, kSize> kText = [] {
    constexpr auto names = enum_names<E>();
    std::array<char, kSize> text{};
    auto at = text.begin();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string_view gap = i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
      at = std::ranges::copy(gap, at).out;
      at = std::ranges::copy(names[i], at).out;
    }
    return text;
  }();
};

}  // namespace detail

// All names in a sentence: "train, eval or both".
template <class E>
constexpr std::string_view enum_list() {
  return {detail::EnumList<E>::kText.data(), detail::EnumList<E>::kText.size()};
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
