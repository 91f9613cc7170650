// SPDX-License-Identifier: Apache-2.0
//
// A named experiment as layers of a config. One that a plugin registered is a single layer, one
// that is a file is that file with its bases, and may name a further experiment to start from.
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
  // All must outlive it. What is wrong is added to `problems`.
  ExperimentLoader(const TypedTree& tree, ConfigCatalog& catalog, Diagnostics& diagnostics)
      : tree_(tree), catalog_(catalog), diagnostics_(diagnostics) {}

  // `name` is the text of a key `experiment`. Throws PluginError when its plugin cannot be used.
  void load(const Value& name);

  // In the order of their weight, the lowest first; without their `base` and `experiment`.
  std::vector<Value> take() { return std::move(layers_); }
  // The experiments whose restrictions hold for the result.
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

// Takes the key `experiment` out of all layers; gives the last, which wins, or null.
Value take_experiment(std::vector<Value>& layers);

}  // namespace trivet
