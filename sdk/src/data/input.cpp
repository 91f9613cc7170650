// SPDX-License-Identifier: Apache-2.0
#include "trivet/input.h"

#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"

namespace trivet {

Input::~Input() = default;

void Input::start() {}

std::optional<std::int64_t> Input::batches_per_epoch() const {
  return std::nullopt;
}

namespace {

std::optional<Batch> checked_next(Input& input) {
  std::optional<Batch> batch = input.get_next();
  if (!batch) return batch;
  for (const auto& [path, tensor] : *batch) {
    if (!tensor.defined()) throw PluginError("gave a batch whose '" + path + "' is no tensor");
  }
  return batch;
}

}  // namespace

std::optional<Batch> next_batch(Input& input, const ConfigOf<Input>& config) {
  const RegistryItem* item = registry().find(Input::kKind, config.key());
  if (item == nullptr) return checked_next(input);
  const PluginCall call(item, "get_next", config.path().c_str());
  try {
    return checked_next(input);
  } catch (...) {
    rethrow_from_plugin(item, "get_next", {.where = config.origin(), .path = config.path()});
  }
}

std::optional<Batch> peek(Input& input) {
  const Value location = input.save_state();
  std::optional<Batch> batch = input.get_next();
  input.restore_state(location);
  return batch;
}

void InputConfig::validate(Diagnostics& diagnostics) const {
  if (infeed_host_index >= num_infeed_hosts) {
    diagnostics.add("infeed_host_index", "must be less than num_infeed_hosts (" +
                                             std::to_string(num_infeed_hosts) + "), is " +
                                             std::to_string(infeed_host_index));
  }
}

}  // namespace trivet
