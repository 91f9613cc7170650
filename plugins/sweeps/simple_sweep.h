// SPDX-License-Identifier: Apache-2.0
// SimpleSweep: an explicit list of all work units.
#pragma once

#include <string>
#include <vector>

#include "trivet/launch/sweep_info.h"

namespace trivet::sweeps {

struct SimpleSweepConfig : launch::SweepInfoConfig {
  std::vector<Value> items;
};
TRIVET_CONFIG(SimpleSweepConfig, launch::SweepInfoConfig,
              (items, "A table for each work unit: argument = value.", required))

class SimpleSweep final : public launch::SweepInfo {
 public:
  using Config = SimpleSweepConfig;
  // Throws ConfigError for an item that is not a table.
  SimpleSweep(const Config& config, const launch::SweepContext& context);

  std::vector<launch::SweepItem> items() const override { return items_; }
  std::vector<std::string> tags() const override { return {"sweep"}; }

 private:
  std::vector<launch::SweepItem> items_;
};

}  // namespace trivet::sweeps
