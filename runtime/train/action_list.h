// SPDX-License-Identifier: Apache-2.0
// ActionList: builds and runs the actions of a config in order. Exceptions of an action get the
// name of its plugin and its location in the config.
//
// After an event the list records what its actions remember, and a request to stop, in
// train_actions.jsonl or eval_actions.jsonl of the run. Lists without either write no file:
//
//   {"step": 900, "types": ["trivet/EarlyStop"], "states": [...], "stop": "...", "actions": [...]}
//
// `stop` and `actions`, the config of the list, are only there if an action ended the training. A
// run that continues drops the lines that do not count (run_log.h) and takes the last one left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trivet/action.h"
#include "trivet/config/config_of.h"
#include "trivet/train/run_log.h"

namespace trivet {

class ActionList final : public RunRecords {
 public:
  struct Options {
    std::string field;  // "trainer.train_actions"
    RunLog::Of of;      // the events after which the list runs
    bool trains;        // else nothing is recorded, and actions cannot stop the run
    std::function<void(const std::string&)> warn;
  };
  // Each action gets a copy of the context with a request_stop of this list.
  ActionList(const std::vector<ConfigOf<Action>>& configs, const ActionContext& context,
             Options options);

  void run(const ActionEvent& event);

  // Why an action has ended the training at this step; nothing if none did.
  std::optional<std::string> stopped_at(std::int64_t step) const;

  // RunRecords: also takes up the states of the last event that counts.
  void cut_after(const RunPosition& last) override;
  void sync() override {}  // the log is known to the host by itself

 private:
  template <class Body>
  void guard(std::size_t action, const Body& body) const;
  std::vector<Value> states() const;
  void record(std::int64_t step);
  std::optional<Value> last_record() const;
  void take_up(const Value& record);
  void restore(const std::vector<Value>& states);

  std::vector<ConfigOf<Action>> configs_;
  Options options_;
  ActionContext context_;
  std::filesystem::path file_;
  RunLog log_;
  Actions actions_;
  Value types_;  // of all actions, nested ones included
  Value actions_config_;
  std::vector<Value> initial_;            // the states of new actions
  std::optional<std::string> requested_;  // during an event
  std::int64_t stop_step_ = -1;
  std::string stop_reason_;
};

}  // namespace trivet
