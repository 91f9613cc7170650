// SPDX-License-Identifier: Apache-2.0
// A named experiment as layers of a config. An experiment of a plugin is one layer. An experiment
// in a file is that file with its bases, and may start from another experiment.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/tree/config_catalog.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

class ExperimentLoader {
 public:
  // All arguments must outlive this object. Errors are added to the diagnostics.
  ExperimentLoader(const TypedTree& tree, ConfigCatalog& catalog, Diagnostics& diagnostics)
      : tree_(tree), catalog_(catalog), diagnostics_(diagnostics) {}

  // `name` is the value of a key `experiment`. Throws PluginError if the plugin cannot be used.
  void load(const Value& name);

  // In order of priority, lowest first; without their `base` and `experiment`.
  std::vector<Value> take() { return std::move(layers_); }
  // The experiments whose restrictions apply to the result.
  const std::vector<std::string>& restricted() const noexcept { return restricted_; }

 private:
  void load_known(const Value& name);

  const TypedTree& tree_;
  ConfigCatalog& catalog_;
  Diagnostics& diagnostics_;
  std::vector<Value> layers_;
  std::vector<std::string> chain_;
  std::vector<std::string> restricted_;
};

// Removes the key `experiment` from all layers. Returns the last one, which wins, or null.
Value take_experiment(std::vector<Value>& layers);

}  // namespace trivet
