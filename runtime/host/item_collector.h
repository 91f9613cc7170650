// SPDX-License-Identifier: Apache-2.0
// Collects what the entry of a plugin offers; what becomes of it is decided afterwards.
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
