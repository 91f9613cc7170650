// SPDX-License-Identifier: Apache-2.0
#include "rundir/config_changes.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "config/file_schema.h"
#include "config/tree/typed_tree.h"
#include "config/tree/value_diff.h"
#include "trivet/error.h"
#include "trivet/layer.h"
#include "trivet/model.h"
#include "trivet/optimizer.h"
#include "trivet/task.h"
#include "trivet/trainer.h"

namespace trivet {
namespace {

// Whether the type of a part may change, and its fields that have no setting of their own.
struct Freedom {
  bool type = true;
  bool fields = true;
};

// Parts whose variables and slots are in a checkpoint, or that decide which of them are trained.
bool decides_variables(std::string_view kind) {
  constexpr std::array kKinds{Layer::kKind, Model::kKind, Optimizer::kKind, Trainer::kKind};
  for (const std::string_view each : kKinds) {
    if (kind == each) return true;
  }
  return false;
}

Freedom freedom_at(const SchemaNode& node, bool adjustable, const Freedom& around) {
  if (adjustable) return {};
  if (node.is_config()) {
    if (decides_variables(node.type->kind)) return {.type = false, .fields = false};
    // Restoring finds shapes that changed because of a task's fields.
    if (node.type->kind == Task::kKind) return {.type = false, .fields = true};
  }
  return {.type = around.fields, .fields = around.fields};
}

std::string_view type_in(const Value& part) {
  const Value* type = part.is_table() ? part.find("type") : &part;
  return type != nullptr && type->is_string() ? std::string_view(type->as_string()) : "";
}

const Value& step_into(const Value& value, const PathStep& step) {
  static const Value kNone;
  const Value* found = nullptr;
  if (step.index < 0) {
    found = value.find(step.name);
  } else if (value.is_array() && static_cast<std::size_t>(step.index) < value.items().size()) {
    found = &value.items()[static_cast<std::size_t>(step.index)];
  }
  return found != nullptr ? *found : kNone;
}

class ChangeJudge {
 public:
  ChangeJudge(const Value& before, const Value& after, SchemaLookup& schemas)
      : before_(before), after_(after), tree_(config_file_schema(), schemas) {}

  void judge(ConfigChange& change) const;

 private:
  std::string unknown_fields(const Value& part, const SchemaNode& node) const;

  const Value& before_;
  const Value& after_;
  TypedTree tree_;
};

// The reason why the fields of a part are unknown. Empty if they are known.
std::string ChangeJudge::unknown_fields(const Value& part, const SchemaNode& node) const {
  const std::string why = fmt::format("the adjustable fields of '{}' are unknown", type_in(part));
  try {
    return tree_.fields(part, node) != nullptr ? "" : why;
  } catch (const Error& failure) {
    return why + ": " + failure.message();
  }
}

// Follows the path through both configs. The innermost setting counts: that of a field, or of a
// part whose kind decides variables.
void ChangeJudge::judge(ConfigChange& change) const {
  const Value *was = &before_, *is = &after_;
  SchemaNode node = tree_.root();
  Freedom freedom;
  bool adjustable = false;
  for (const PathStep& step : split_path(change.path)) {
    const bool is_field = step.index < 0;
    if (is_field && node.is_config()) {
      if (step.name == "type") break;
      // If the type of a part differs, only the type is reported.
      if (type_in(*was) != type_in(*is)) return;
      if (const std::string why = unknown_fields(*is, node); !why.empty()) {
        if (!freedom.type) change.reason = why;
        break;
      }
    }
    const SchemaNode next = is_field ? tree_.child(*is, node, step.name) : tree_.element(node);
    if (!freedom.fields && next.type == nullptr && !node.is_free()) {
      change.reason = "this field no longer exists";
      break;
    }
    adjustable =
        next.field != nullptr ? next.field->adjustable : adjustable && next.type != nullptr;
    freedom = freedom_at(next, adjustable, freedom);
    was = &step_into(*was, step);
    is = &step_into(*is, step);
    node = next;
  }
  change.breaks = !change.reason.empty() || !(node.is_config() ? freedom.type : freedom.fields);
}

}  // namespace

std::vector<ConfigChange> config_changes(const Value& before, const Value& after,
                                         SchemaLookup& schemas) {
  const ChangeJudge judge(before, after, schemas);
  std::vector<ConfigChange> changes;
  for (ValueDifference& found : differences(before, after)) {
    if (found.path == "mode" || found.path == "name") continue;
    // A field that did not exist when the run was started: its default is the old behavior.
    if (found.before.empty() && found.is_default) continue;
    changes.push_back({.path = std::move(found.path),
                       .before = std::move(found.before),
                       .after = std::move(found.after)});
    judge.judge(changes.back());
  }
  return changes;
}

std::string to_string(const std::vector<ConfigChange>& changes) {
  std::string text;
  for (const ConfigChange& change : changes) {
    text += fmt::format("{}  {}: {} -> {}", text.empty() ? "" : "\n", change.path,
                        change.before.empty() ? "(not set)" : change.before,
                        change.after.empty() ? "(not set)" : change.after);
    if (!change.reason.empty()) text += fmt::format(" ({})", change.reason);
  }
  return text;
}

}  // namespace trivet
