// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state_value.h"

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet {

const Value& member(const Value& table, std::string_view key) {
  if (const Value* found = table.find(key)) return *found;
  throw RunError(fmt::format("the checkpoint's state has no \"{}\"", key),
                 {.hint = "another version of trivet wrote it"});
}

}  // namespace trivet
