// SPDX-License-Identifier: Apache-2.0
#include "trivet/metric.h"

#include <string>

#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"

namespace trivet {

// Out of line, so that the class has one vtable and one type information in the process.
Metric::~Metric() = default;

void Metric::merge(const Value&) {
  const RegistryItem* const item = item_of(*this);
  throw Error("metric " + (item != nullptr ? item->key : std::string("of the task")) +
              " has no merge: its sums over parts of the data cannot be added");
}

}  // namespace trivet
