// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state_value.h"

namespace trivet {

const Value& member(const Value& table, std::string_view key) {
  return table.at(key, "the checkpoint's state",
                  "it was written by another version of this program");
}

}  // namespace trivet
