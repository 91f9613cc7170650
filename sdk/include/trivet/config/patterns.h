// SPDX-License-Identifier: Apache-2.0
// Patterns: a list of regular expressions (ECMAScript) that names are compared with, e.g. the paths
// of parameters. A config keeps the texts and checks them in its `validate`; what uses them
// compiles them once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config/schema.h"

namespace trivet {

// Cheap to copy, never changes. [any-thread]
class TRIVET_API Patterns {
 public:
  // Throws Error for a text that is no regular expression, or has more than 1000 characters.
  explicit Patterns(const std::vector<std::string>& texts);

  bool empty() const;
  // One of them matches all of `name`: "head/.*" matches "head/w", "head" does not.
  bool matches(std::string_view name) const;
  // One of them matches a part of `name`: "head" and "/w$" match "head/w".
  bool found_in(std::string_view name) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// Adds a problem for every text that Patterns refuses; `field` as in Diagnostics::add.
TRIVET_API void check_patterns(Diagnostics& diagnostics, std::string_view field,
                               const std::vector<std::string>& texts);

}  // namespace trivet
