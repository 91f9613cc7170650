// SPDX-License-Identifier: Apache-2.0
//
// One override without globs, applied to a config tree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/overrides/override.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// An override at one place: `parsed` names it, globs replaced.
struct PlacedOverride {
  const Override* given = nullptr;
  int number = 0;  // from 1, in the order of the user
  ParsedOverride parsed{};
};

// What it has set, and where.
struct AppliedOverride {
  const PlacedOverride* placed = nullptr;
  std::string path;  // of the value, with the names that the schemas have today
  SchemaNode node;
  Value value;  // a type alone is {type = "..."}; null where something was taken out
};

// A copy of `root` with every default filled in.
Value filled_copy(const Value& root, const TypedTree& tree);

class OverrideApplier {
 public:
  // All must outlive it.
  OverrideApplier(Value& root, const TypedTree& tree, const PlacedOverride& placed)
      : root_(root), tree_(tree), placed_(placed) {}

  // Throws ConfigError with the place in the override.
  AppliedOverride apply();

 private:
  // Where a walk has come to.
  struct Place {
    Value* value;
    SchemaNode node;
    std::string path;
    bool free;  // at or below a table with free keys
  };

  [[noreturn]] void fail(std::size_t at, const std::string& path, std::string what,
                         std::string hint = {}) const;
  Origin origin(std::size_t at) const;
  const Value& filled();
  void refuse_reserved() const;
  AppliedOverride set_value(Place& place);
  AppliedOverride set_type(Place& place);
  void replace(Place& place, Value value);
  void require_key(const Place& place, const OverrideStep& step);
  void descend(Place& place, const OverrideStep& step);
  void descend_list(Place& place, const OverrideStep& step);
  AppliedOverride remove();
  [[noreturn]] void report_absent(const OverrideStep& step);

  Value& root_;
  const TypedTree& tree_;
  const PlacedOverride& placed_;
  std::optional<Value> filled_;
};

}  // namespace trivet
