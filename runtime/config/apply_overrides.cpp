// SPDX-License-Identifier: Apache-2.0
#include "config/apply_overrides.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/defaults.h"

namespace trivet {
namespace {

using OverrideAction = ParsedOverride::Action;
using Kind = OverrideStep::Kind;

void set_origins(Value& value, const Origin& first) {
  Origin origin = first;
  if (value.origin().column > 0) origin.column = first.column + value.origin().column - 1;
  value.set_origin(std::move(origin));
  if (value.is_array()) {
    for (Value& item : value.items()) set_origins(item, first);
  }
  if (!value.is_table()) return;
  for (Value::Member& member : value.members()) {
    const int column = first.column + std::max(1, member.key_origin.column) - 1;
    member.key_origin = first;
    member.key_origin.column = column;
    set_origins(member.value, first);
  }
}

// One override, at one place.
class Applier {
 public:
  Applier(Value& root, const TypedTree& tree, const Override& given, int number)
      : root_(root), tree_(tree), given_(given), number_(number) {}

  void apply(const ParsedOverride& parsed) {
    const std::string& first = parsed.steps[0].name;
    if (first == "experiment" || first == "base") {
      fail(parsed.steps[0].at, {}, "'" + first + "' cannot be an override",
           first == "base" ? "give a further file with --config_file" : "use --experiment NAME");
    }
    const bool globs = std::any_of(parsed.steps.begin(), parsed.steps.end(), [](const auto& step) {
      return step.kind != Kind::name && step.kind != Kind::index;
    });
    if (!globs) return apply_at(parsed, parsed.steps);
    if (parsed.steps.back().kind == Kind::any_depth) {
      fail(parsed.steps.back().at, {}, "bad override: a path cannot end with **");
    }
    const auto places = match_paths(filled(), tree_, parsed.steps);
    if (places.empty()) report_no_match(parsed);
    for (const auto& place : places) apply_at(parsed, place);
  }

 private:
  // Where a walk has come to.
  struct Place {
    Value* value;
    Spot spot;
    std::string path;
    bool free;  // at or below a table with free keys
  };

  [[noreturn]] void fail(std::size_t at, const std::string& path, std::string what,
                         std::string hint = {}) const {
    throw ConfigError(
        Problem{override_origin(given_, number_, at), path, std::move(what), std::move(hint)});
  }

  const Value& filled() {
    if (!filled_) {
      filled_ = root_;
      Problems ignored;  // the same again when everything is filled
      const Value* by_type = root_.find("defaults");
      const Value none;
      DefaultsFiller(tree_, by_type != nullptr ? *by_type : none, ignored).fill(*filled_);
    }
    return *filled_;
  }

  void report_no_match(const ParsedOverride& parsed) {
    const OverrideStep& last = parsed.steps.back();
    std::vector<std::string> names;
    const std::vector<OverrideStep> anything{{Kind::any_depth}, {Kind::name_glob, "*"}};
    for (const auto& place : match_paths(filled(), tree_, anything)) {
      if (!place.back().name.empty()) names.push_back(place.back().name);
    }
    const bool near = !nearest_names(last.name, names).empty();
    fail(parsed.steps[0].at, {}, "this matches nothing in the config",
         near ? suggestion(last.name, names) : "trivet config show prints all paths");
  }

  void apply_at(const ParsedOverride& parsed, const std::vector<OverrideStep>& steps) {
    if (parsed.action == OverrideAction::remove) return remove(steps);
    Place place{&root_, tree_.root(), {}, is_free_section(steps[0].name)};
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) descend(place, steps[i]);
    const OverrideStep& last = steps.back();
    if (last.kind == Kind::name && last.name == "type" && place.spot.is_config()) {
      return set_type(place, parsed);
    }
    if (last.kind == Kind::name && parsed.action == OverrideAction::set) require_key(place, last);
    descend(place, last);
    set_value(place, parsed);
  }

  void set_value(Place& place, const ParsedOverride& parsed) {
    const Origin origin = override_origin(given_, number_, parsed.value_at);
    Value value;
    try {
      value = read_override_value(
          given_.yaml_words ? without_yaml_words(parsed.value, place.spot) : parsed.value,
          place.spot);
    } catch (const ConfigError& error) {
      const Problem& problem = error.problems().front();
      fail(parsed.value_at, place.path, problem.what, problem.hint);
    }
    set_origins(value, origin);
    tree_.merge(*place.value, std::move(value), place.spot);
  }

  void set_type(Place& place, const ParsedOverride& parsed) {
    const Origin origin = override_origin(given_, number_, parsed.value_at);
    Value type = read_override_value(parsed.value, Spot{&text_type(), nullptr, nullptr});
    type.set_origin(origin);
    Value table = Value::table();
    table.set("type", std::move(type));
    table.set_origin(origin);
    tree_.merge(*place.value, std::move(table), place.spot);
  }

  static const FieldType& text_type() {
    static const FieldType kText = [] {
      FieldType type;
      type.form = FieldType::Form::text;
      return type;
    }();
    return kText;
  }

  // A key that is new to a free table is more often a slip than not.
  void require_key(const Place& place, const OverrideStep& step) {
    const bool free_table = place.free || (place.spot.type != nullptr && place.spot.is_free());
    if (!free_table || is_free_section(place.path.substr(0, place.path.find_first_of(".["))) ||
        is_free_section(step.name)) {
      return;
    }
    const std::string path = joined_path(place.path, step.name);
    if (place.value->find(step.name) != nullptr || filled().find_path(path) != nullptr) return;
    fail(step.at, path, "there is no key '" + step.name + "' in this free table",
         "write +" + path + "=... to add it");
  }

  void descend(Place& place, const OverrideStep& step) {
    if (step.kind == Kind::index) return descend_list(place, step);
    const Value& before = *place.value;
    tree_.expand(*place.value, place.spot);
    const bool none = before.is_text() && before.as_text() == "none";
    if (before.is_null() || (none && place.spot.is_config())) {
      *place.value = Value::table();
      place.value->set_origin(override_origin(given_, number_, step.at));
    }
    if (!place.value->is_table()) {
      fail(step.at, joined_path(place.path, step.name),
           "'" + place.path + "' is " + std::string(to_string(place.value->type())) +
               " and has no keys");
    }
    const Spot inner = tree_.child(*place.value, place.spot, step.name);
    const std::string& name = inner.field != nullptr ? inner.field->name : step.name;
    place.free = place.free || (place.spot.type != nullptr && place.spot.is_free());
    Field wanted;
    wanted.name = name;
    Value::Member* member = find_member(*place.value, inner.field ? *inner.field : wanted);
    if (member == nullptr) {
      place.value->members().push_back({name, Value(), {}});
      member = &place.value->members().back();
    }
    member->key_origin = override_origin(given_, number_, step.at);
    place = {&member->value, inner, joined_path(place.path, name), place.free};
  }

  void descend_list(Place& place, const OverrideStep& step) {
    if (place.value->is_null()) {
      const Value* standing = filled().find_path(place.path);
      if (standing != nullptr) *place.value = *standing;
    }
    const std::string path = joined_path(place.path, step.index);
    if (!place.value->is_array()) fail(step.at, path, "'" + place.path + "' is not a list");
    Value::Array& items = place.value->items();
    if (step.index >= items.size()) {
      fail(step.at, path, "the list has " + std::to_string(items.size()) + " elements",
           "they are numbered from 0");
    }
    place = {&items[step.index], tree_.element(place.spot), path, place.free};
  }

  void remove(const std::vector<OverrideStep>& steps) {
    Value* parent = &root_;
    Spot spot = tree_.root();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const OverrideStep& step = steps[i];
      const bool last = i + 1 == steps.size();
      tree_.expand(*parent, spot);
      if (step.kind == Kind::index) {
        if (!parent->is_array() || step.index >= parent->items().size()) {
          report_absent(steps, step);
        }
        auto& items = parent->items();
        if (last) {
          items.erase(items.begin() + static_cast<std::ptrdiff_t>(step.index));
          return;
        }
        parent = &items[step.index];
        spot = tree_.element(spot);
        continue;
      }
      const Spot inner = tree_.child(*parent, spot, step.name);
      Field wanted;
      wanted.name = step.name;
      Value::Member* member = find_member(*parent, inner.field ? *inner.field : wanted);
      if (member == nullptr) report_absent(steps, step);
      if (last) {
        parent->erase(std::string(member->key));
        return;
      }
      parent = &member->value;
      spot = inner;
    }
  }

  [[noreturn]] void report_absent(const std::vector<OverrideStep>& steps,
                                  const OverrideStep& step) {
    const std::string path = path_text(steps);
    if (filled().find_path(path) != nullptr) {
      fail(steps[0].at, path, "there is nothing to take out: this is the default",
           "set it instead; an optional part is switched off by =none");
    }
    fail(step.at, path, "there is nothing to take out");
  }

  Value& root_;
  const TypedTree& tree_;
  const Override& given_;
  int number_;
  std::optional<Value> filled_;
};

}  // namespace

bool is_free_section(std::string_view name) noexcept {
  return name == "xp" || name == "backend" || name == "defaults" || name == "sweep";
}

void apply_overrides(Value& root, const TypedTree& tree, const std::vector<Override>& overrides,
                     Problems& problems) {
  int number = 0;
  for (const Override& given : overrides) {
    ++number;
    try {
      const ParsedOverride parsed = parse_override(given, number);
      Applier(root, tree, given, number).apply(parsed);
    } catch (const ConfigError& error) {
      for (const Problem& problem : error.problems()) problems.add(problem);
    }
  }
}

}  // namespace trivet
