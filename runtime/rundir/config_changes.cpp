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

// What of a part may change: its type, and those of its fields that say nothing of themselves.
struct Freedom {
  bool type = true;
  bool fields = true;
};

// Parts whose variables and slots a checkpoint holds, or that decide which of them are trained.
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
    // What the fields of a task change of the shapes is found by restoring.
    if (node.type->kind == Task::kKind) return {.type = false, .fields = true};
  }
  return {.type = around.fields, .fields = around.fields};
}

std::string_view type_in(const Value& part) {
  const Value* type = part.is_table() ? part.find("type") : &part;
  return type != nullptr && type->is_string() ? std::string_view(type->as_string()) : "";
}

const Value& below(const Value& value, const PathStep& step) {
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

// Why the fields of a part are not known; empty where they are.
std::string ChangeJudge::unknown_fields(const Value& part, const SchemaNode& node) const {
  const std::string why =
      fmt::format("which fields of '{}' may change is not known", type_in(part));
  try {
    return tree_.fields(part, node) != nullptr ? "" : why;
  } catch (const Error& failure) {
    return why + ": " + failure.message();
  }
}

// Follows the path through both configs. The nearest word counts: that of a field, or of a part
// whose kind decides variables.
void ChangeJudge::judge(ConfigChange& change) const {
  const Value *was = &before_, *is = &after_;
  SchemaNode node = tree_.root();
  Freedom freedom;
  bool adjustable = false;
  for (const PathStep& step : split_path(change.path)) {
    const bool is_field = step.index < 0;
    if (is_field && node.is_config()) {
      if (step.name == "type") break;
      // Of a part of another type that type alone tells.
      if (type_in(*was) != type_in(*is)) return;
      if (const std::string why = unknown_fields(*is, node); !why.empty()) {
        if (!freedom.type) change.reason = why;
        break;
      }
    }
    const SchemaNode next = is_field ? tree_.child(*is, node, step.name) : tree_.element(node);
    if (!freedom.fields && next.type == nullptr && !node.is_free()) {
      change.reason = "there is no such field any more";
      break;
    }
    adjustable =
        next.field != nullptr ? next.field->adjustable : adjustable && next.type != nullptr;
    freedom = freedom_at(next, adjustable, freedom);
    was = &below(*was, step);
    is = &below(*is, step);
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
    // A field that there was not when the run was started: it means what was done then.
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
