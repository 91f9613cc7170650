// SPDX-License-Identifier: Apache-2.0
// Collects the items that a plugin's entry offers. The caller decides later whether to register
// them.
#pragma once

#include <utility>
#include <vector>

#include "trivet/plugin/registry.h"

namespace trivet {

class ItemCollector final : public Registrar {
 public:
  void add(RegistryItem item) override { items.push_back(std::move(item)); }
  std::vector<RegistryItem> items;
};

}  // namespace trivet
