// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "trivet/config/detail/field_traits.h"

namespace trivet {

// The name of a file or folder as it was written. Relative ones are relative to the working
// directory.
struct Path {
  std::string text{};

  constexpr Path() = default;
  constexpr Path(std::string name) : text(std::move(name)) {}
  constexpr Path(const char* name) : text(name) {}

  constexpr bool empty() const noexcept { return text.empty(); }
  friend constexpr bool operator==(const Path&, const Path&) = default;
};

namespace detail {

template <>
struct FieldTraits<Path> {
  static constexpr std::string_view kForm = "path";
  static constexpr bool kHasBounds = false;
  template <class Sink>
  static constexpr void write_json(Sink& out, const Path& value) {
    json_text(out, value.text);
  }
  static Path read(const Value& value) { return value.as_string(); }
  static Value write(const Path& value) { return value.text; }
};

}  // namespace detail

}  // namespace trivet
