// SPDX-License-Identifier: Apache-2.0
#include "train/action_list.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/plugin/registry.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

const char* file_name(RunLog::Of of) {
  return of == RunLog::Of::training ? "train_actions.jsonl" : "eval_actions.jsonl";
}

// Nested actions are tables with a type, too.
void add_types(const Value& value, Value& types) {
  if (value.is_array()) {
    for (const Value& item : value.items()) add_types(item, types);
  }
  if (!value.is_table()) return;
  for (const Value::Member& member : value.members()) {
    if (member.key == "type") types.push_back(member.value);
    add_types(member.value, types);
  }
}

Value config_of(const std::vector<ConfigOf<Action>>& configs) {
  Value all = Value::array();
  for (const ConfigOf<Action>& config : configs) {
    Value fields = config.fields();
    fields.set("type", config.key());
    all.push_back(std::move(fields));
  }
  return all;
}

}  // namespace

ActionList::ActionList(const std::vector<ConfigOf<Action>>& configs, const ActionContext& context,
                       Options options)
    : RunRecords(context.directory),
      configs_(configs),
      options_(std::move(options)),
      context_(context),
      file_(context.directory / file_name(options_.of)),
      log_(context.directory, file_name(options_.of), options_.of),
      types_(Value::array()),
      actions_config_(config_of(configs)) {
  add_types(actions_config_, types_);
  if (options_.trains) {
    context_.request_stop = [this](const std::string& reason) {
      if (!requested_) requested_ = reason.empty() ? "an action of " + options_.field : reason;
    };
  }
  for (const ConfigOf<Action>& config : configs_) actions_.push_back(make(config, context_));
  initial_ = states();
}

template <class Body>
void ActionList::guard(std::size_t action, const Body& body) const {
  const ConfigOf<Action>& config = configs_[action];
  const RegistryItem& item =
      registry().get(Action::kKind, config.key(), config.origin(), config.path());
  Registry::guard(item, config.origin(), config.path(), body);
}

void ActionList::run(const ActionEvent& event) {
  requested_.reset();
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    guard(i, [&] { actions_[i]->run(event); });
  }
  if (options_.trains) record(event.step);
}

std::vector<Value> ActionList::states() const {
  std::vector<Value> states(actions_.size());
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    guard(i, [&] { states[i] = actions_[i]->save_state(); });
  }
  return states;
}

void ActionList::record(std::int64_t step) {
  const std::vector<Value> states = this->states();
  const bool any =
      std::any_of(states.begin(), states.end(), [](const Value& s) { return !s.is_null(); });
  if (!any && !requested_) return;
  Value line = Value::table({{"types", types_}, {"states", Value::Array(states)}});
  if (requested_) {
    stop_step_ = step;
    stop_reason_ = *requested_;
    line.set("stop", stop_reason_);
    line.set("actions", actions_config_);
  }
  log_.append(step, line);
}

std::optional<std::string> ActionList::stopped_at(std::int64_t step) const {
  if (stop_step_ != step) return std::nullopt;
  return stop_reason_;
}

void ActionList::cut_after(const RunPosition& last) {
  if (!options_.trains) return;
  log_.cut_after(last);
  stop_step_ = -1;
  const std::optional<Value> record = last_record();
  if (record) {
    take_up(*record);
  } else {
    restore(initial_);
  }
}

std::optional<Value> ActionList::last_record() const {
  if (!is_there(file_)) return std::nullopt;
  std::optional<Value> last;
  const std::string text = read_text_file(file_);
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    try {
      Value record = value_from_json(line, file_.string());
      if (record.find("step") != nullptr) last = std::move(record);
    } catch (const Error& unreadable) {
      options_.warn(fmt::format("{}: the line is left out", unreadable.message()));
    }
  }
  return last;
}

void ActionList::take_up(const Value& record) {
  const std::string what = file_.string();
  const std::int64_t step = record.at("step", what).as_integer();
  if (record.at("types", what) != types_) {
    options_.warn(fmt::format("{} has other actions than before step {}: their states are dropped",
                              options_.field, step));
    restore(initial_);
  } else {
    restore(record.at("states", what).items());
  }
  const Value* stop = record.find("stop");
  if (stop == nullptr) return;
  if (record.at("actions", what) != actions_config_) {
    options_.warn(
        fmt::format("the run had ended at step {} ({}); {} has changed since, so it continues",
                    step, stop->as_string(), options_.field));
    return;
  }
  stop_step_ = step;
  stop_reason_ = stop->as_string();
}

void ActionList::restore(const std::vector<Value>& states) {
  for (std::size_t i = 0; i < actions_.size() && i < states.size(); ++i) {
    if (states[i].is_null()) continue;
    guard(i, [&] { actions_[i]->restore_state(states[i]); });
  }
}

}  // namespace trivet
