// SPDX-License-Identifier: Apache-2.0
#include "train/action_list.h"

#include "trivet/plugin/registry.h"

namespace trivet {

ActionList::ActionList(const std::vector<ConfigOf<Action>>& configs, ActionContext& context)
    : configs_(configs) {
  for (const ConfigOf<Action>& config : configs_) actions_.push_back(make(config, context));
}

void ActionList::run(const ActionEvent& event) {
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    const ConfigOf<Action>& config = configs_[i];
    const RegistryItem& item =
        registry().get(Action::kKind, config.key(), config.origin(), config.path());
    Registry::guard(item, config.origin(), config.path(), [&] { actions_[i]->run(event); });
  }
}

}  // namespace trivet
