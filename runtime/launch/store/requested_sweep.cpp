// SPDX-License-Identifier: Apache-2.0
#include "launch/store/requested_sweep.h"

#include <utility>

#include "launch/store/experiment_store.h"
#include "launch/store/launch_record.h"

namespace trivet {

namespace fs = std::filesystem;

Value sweeps_value(const std::vector<RequestedSweep>& sweeps) {
  Value list = Value::array();
  for (const RequestedSweep& sweep : sweeps) {
    list.push_back(
        Value::table({{"sweep", sweep.choice}, {"options", Value::array_of(sweep.options)}}));
  }
  return list;
}

std::vector<RequestedSweep> recorded_sweeps(const fs::path& directory) {
  std::vector<RequestedSweep> sweeps;
  if (!holds_experiment(directory)) return sweeps;
  const Value facts = experiment_facts(directory);
  const Value* list = facts.find("sweeps");
  if (list == nullptr || !list->is_array()) return sweeps;
  for (const Value& item : list->items()) {
    const Value* choice = item.find("sweep");
    sweeps.push_back({choice != nullptr ? *choice : Value(), texts_in(item, "options")});
  }
  return sweeps;
}

std::vector<RequestedSweep> recorded_sweeps(const ConfigRequest& request) {
  std::vector<RequestedSweep> all;
  for (const fs::path& file : request.files) {
    if (file.filename() != "launch.toml") continue;
    for (RequestedSweep& sweep : recorded_sweeps(file.parent_path())) {
      all.push_back(std::move(sweep));
    }
  }
  return all;
}

}  // namespace trivet
