// SPDX-License-Identifier: Apache-2.0
// What is behind a ConfigValue that is no literal.
#pragma once

#include <string>

#include "trivet/config/config_of.h"

namespace trivet {

struct ConfigValue::Node {
  std::string key;
  Value fields = Value::table();
  std::string path{};
  Origin origin{};
};

}  // namespace trivet
