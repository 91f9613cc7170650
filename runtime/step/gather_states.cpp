// SPDX-License-Identifier: Apache-2.0
#include "step/gather_states.h"

#include <string>
#include <utility>

#include "trivet/backend/process_group.h"
#include "trivet/config/json.h"

namespace trivet {

std::vector<Value> gather_states(ProcessGroup* group, std::vector<Value> own) {
  if (group == nullptr) return own;
  Value list = Value::array();
  for (Value& state : own) list.push_back(std::move(state));
  std::vector<Value> all;
  for (const std::string& text : all_gather_text(*group, to_json(list))) {
    const Value states = value_from_json(text, "the states of another process");
    for (const Value& state : states.items()) all.push_back(state);
  }
  return all;
}

}  // namespace trivet
