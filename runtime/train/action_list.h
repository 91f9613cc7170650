// SPDX-License-Identifier: Apache-2.0
// ActionList: builds and runs the actions of a config in order. Exceptions of an action get the
// name of its plugin and its location in the config.
#pragma once

#include <memory>
#include <vector>

#include "trivet/action.h"
#include "trivet/config/config_of.h"

namespace trivet {

class ActionList {
 public:
  ActionList() = default;
  ActionList(const std::vector<ConfigOf<Action>>& configs, ActionContext& context);

  void run(const ActionEvent& event);

 private:
  std::vector<ConfigOf<Action>> configs_;
  Actions actions_;
};

}  // namespace trivet
