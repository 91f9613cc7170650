// SPDX-License-Identifier: Apache-2.0
//
// Types of config fields that the standard library lacks. All of them work in constant expressions,
// so that a plugin's file can carry their defaults.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/error.h"
#include "trivet/plugin/export.h"

namespace trivet {

// The name of a file or folder as it was written. Relative ones are relative to the working
// directory.
struct Path {
  std::string text{};

  constexpr Path() = default;
  constexpr Path(std::string name) : text(std::move(name)) {}
  constexpr Path(const char* name) : text(name) {}

  constexpr bool empty() const noexcept { return text.empty(); }
  std::filesystem::path path() const { return text; }
  friend constexpr bool operator==(const Path&, const Path&) = default;
};

// A span of time in seconds. In TOML a number of seconds or a text such as "90s", "1h30m", "250ms",
// "1.5d".
struct Duration {
  double seconds = 0;

  constexpr Duration() = default;
  constexpr Duration(double s) : seconds(s) {}
  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;
};

// Units d, h, m, s, ms, us, each at most once and in this order; a sign may stand before. Nothing
// for any other text.
TRIVET_API std::optional<Duration> parse_duration(std::string_view text);
// The shortest such text that reads back to the same number of milliseconds, e.g. "1h30m".
TRIVET_API std::string to_string(Duration duration);

// How often something happens: every so many steps, or after so much time. In TOML an integer
// (steps) or a text such as "10m". Zero of both: never.
struct Interval {
  std::int64_t steps = 0;
  Duration time{};

  constexpr Interval() = default;
  constexpr Interval(std::int64_t n) : steps(n) {}
  constexpr Interval(Duration span) : time(span) {}
  constexpr bool is_time() const noexcept { return time.seconds > 0; }
  friend constexpr bool operator==(const Interval&, const Interval&) = default;
};

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
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Entry& entry) {
             const T* other = b.find(entry.first);
             return other != nullptr && *other == entry.second;
           });
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace trivet
