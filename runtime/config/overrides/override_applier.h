// SPDX-License-Identifier: Apache-2.0
// Applies one override without globs to a config tree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/overrides/override.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// An override for one location, `parsed`, in which globs are replaced.
struct LocatedOverride {
  const Override* given = nullptr;
  int number = 0;  // from 1, in the user's order
  ParsedOverride parsed{};
};

// The value that it set, and the location.
struct AppliedOverride {
  const LocatedOverride* placed = nullptr;
  std::string path;  // of the value, with the current names of the schemas
  SchemaNode node;
  Value value;  // a type alone is {type = "..."}; null for a removal
};

// A copy of `root` with every default filled in.
Value filled_copy(const Value& root, const TypedTree& tree);

class OverrideApplier {
 public:
  // All arguments must outlive this object.
  OverrideApplier(Value& root, const TypedTree& tree, const LocatedOverride& placed)
      : root_(root), tree_(tree), placed_(placed) {}

  // Throws ConfigError with the location in the override.
  AppliedOverride apply();

 private:
  // The current location of a walk.
  struct Location {
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
  AppliedOverride set_value(Location& location);
  AppliedOverride set_type(Location& location);
  void replace(Location& location, Value value);
  void require_key(const Location& location, const OverrideStep& step);
  void descend(Location& location, const OverrideStep& step);
  void descend_list(Location& location, const OverrideStep& step);
  AppliedOverride remove();
  [[noreturn]] void report_absent(const OverrideStep& step);

  Value& root_;
  const TypedTree& tree_;
  const LocatedOverride& placed_;
  std::optional<Value> filled_;
};

}  // namespace trivet
