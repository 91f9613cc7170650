// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/error.h"

namespace trivet {

// Text to T in the order of insertion; a field of this type is a TOML table with free keys.
// Equality ignores the order, as TOML does.
template <class T>
class Map {
 public:
  using Entry = std::pair<std::string, T>;

  constexpr Map() = default;
  constexpr Map(std::initializer_list<Entry> entries) : entries_(entries) {}

  constexpr bool empty() const noexcept { return entries_.empty(); }
  constexpr std::size_t size() const noexcept { return entries_.size(); }
  constexpr auto begin() const noexcept { return entries_.begin(); }
  constexpr auto end() const noexcept { return entries_.end(); }
  constexpr auto begin() noexcept { return entries_.begin(); }
  constexpr auto end() noexcept { return entries_.end(); }

  constexpr const T* find(std::string_view key) const noexcept {
    for (const Entry& entry : entries_) {
      if (entry.first == key) return &entry.second;
    }
    return nullptr;
  }
  constexpr bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
  // Throws Error when the key is missing.
  const T& at(std::string_view key) const {
    if (const T* found = find(key)) return *found;
    throw Error("there is no entry '" + std::string(key) + "'");
  }
  // Makes a default value for a missing key.
  constexpr T& operator[](std::string_view key) {
    for (Entry& entry : entries_) {
      if (entry.first == key) return entry.second;
    }
    return entries_.emplace_back(std::string(key), T{}).second;
  }
  constexpr bool erase(std::string_view key) {
    return std::erase_if(entries_, [&](const Entry& entry) { return entry.first == key; }) > 0;
  }
  constexpr void clear() noexcept { entries_.clear(); }

  friend constexpr bool operator==(const Map& a, const Map& b) requires requires(const T& x) {
    x == x;
  }
  {
    if (a.size() != b.size()) return false;
    for (const Entry& entry : a) {
      const T* other = b.find(entry.first);
      if (other == nullptr || !(*other == entry.second)) return false;
    }
    return true;
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace trivet
