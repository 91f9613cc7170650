// SPDX-License-Identifier: Apache-2.0
#include "run/recorded_config.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include "config/registered_schemas.h"
#include "config/resolver.h"
#include "config/toml/toml_reader.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

bool any_breaks(const std::vector<ConfigChange>& changes) {
  return std::any_of(changes.begin(), changes.end(),
                     [](const ConfigChange& change) { return change.breaks; });
}

std::optional<Value> config_in(CheckpointManager& checkpoints) {
  const auto checkpoint = checkpoints.look();
  if (checkpoint == nullptr || !checkpoint->has_state(kRunState)) return std::nullopt;
  const Value& state = checkpoint->state(kRunState);
  const Value* text = state.is_table() ? state.find("config") : nullptr;
  if (text == nullptr || !text->is_string()) return std::nullopt;
  return without_references(read_toml(text->as_string(), checkpoint->description()));
}

// The error of the file. Empty if `changes` were read from it.
std::string compare_file(const std::filesystem::path& file, const Value& now,
                         std::vector<ConfigChange>& changes) {
  if (!is_there(file)) return "is missing";
  const std::string text = read_text_file(file);
  try {
    RegisteredSchemas schemas;
    changes = config_changes(without_references(read_toml(text, file.string())), now, schemas);
    return {};
  } catch (const ConfigError& damaged) {
    return "is damaged: " + damaged.message();
  }
}

}  // namespace

std::vector<ConfigChange> changes_since_start(const std::filesystem::path& file,
                                              CheckpointManager& checkpoints, const Value& now,
                                              const std::function<void(const std::string&)>& warn) {
  if (checkpoints.steps().empty()) return {};
  std::vector<ConfigChange> changes;
  std::string wrong = compare_file(file, now, changes);
  if (wrong.empty() && !any_breaks(changes)) return changes;
  const std::optional<Value> kept = config_in(checkpoints);
  if (!kept) {
    if (wrong.empty()) return changes;
    const std::string what = fmt::format("{} {}", file.string(), wrong);
    if (is_there(file)) {
      throw RunError(what, {.hint = "if the run was started with the given config, "
                                    "move the file away and start again: the run continues"});
    }
    warn(what + ", and the checkpoints contain no config: whether they match this one is unknown");
    return changes;
  }
  RegisteredSchemas schemas;
  changes = config_changes(*kept, now, schemas);
  if (any_breaks(changes)) return changes;
  if (wrong.empty()) wrong = "differs from the config of the run's checkpoints";
  warn(fmt::format("{} {}; using the config in the newest checkpoint", file.string(), wrong));
  return changes;
}

}  // namespace trivet
