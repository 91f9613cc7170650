// SPDX-License-Identifier: Apache-2.0
// "**" matches any number of steps, none included, so a location can be reached in more than one
// way; it counts once.
#include "config/overrides/match_paths.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace trivet {
namespace {

using Kind = OverrideStep::Kind;

struct Child {
  std::string name;  // empty for an element of a list
  std::size_t index, from_end;
  const Value* value;
  SchemaNode node;
};

class Matcher {
 public:
  Matcher(const TypedTree& tree, const std::vector<OverrideStep>& steps)
      : tree_(tree), steps_(steps) {}

  void match(const Value& value, const SchemaNode& node, std::size_t step) {
    if (step == steps_.size()) {
      if (seen_.insert(path_text(taken_)).second) found_.push_back(taken_);
      return;
    }
    const bool any_depth = steps_[step].kind == Kind::any_depth;
    if (any_depth) match(value, node, step + 1);
    for (const Child& child : children(value, node)) {
      if (!fits(child, steps_[step])) continue;
      taken_.push_back({child.name.empty() ? Kind::index : Kind::name, child.name, child.index,
                        steps_[step].at});
      match(*child.value, child.node, any_depth ? step : step + 1);
      taken_.pop_back();
    }
  }

  std::vector<std::vector<OverrideStep>> take() { return std::move(found_); }

 private:
  static bool fits(const Child& child, const OverrideStep& step) {
    switch (step.kind) {
      case Kind::name:
        return child.name == step.name;
      case Kind::index:
        return child.name.empty() && child.index == step.index;
      case Kind::index_from_end:
        return child.name.empty() && child.from_end == step.index;
      case Kind::name_glob:
        return !child.name.empty() && matches_glob(step.name, child.name);
      case Kind::any_index:
        return child.name.empty();
      case Kind::any_depth:
        return true;
    }
    return false;
  }

  std::vector<Child> children(const Value& value, const SchemaNode& node) const {
    static const Value kNothing;
    std::vector<Child> list;
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.items().size(); ++i) {
        list.push_back({{}, i, value.items().size() - i, &value.items()[i], tree_.element(node)});
      }
      return list;
    }
    const bool top = taken_.empty();
    if (value.is_table()) {
      for (const Value::Member& member : value.members()) {
        if (member.key.empty() || (top && is_consumed(member.key))) continue;
        list.push_back({member.key, 0, 0, &member.value, tree_.child(value, node, member.key)});
      }
    }
    // Fields of the schema without a value can be set, too.
    if (const std::vector<Field>* fields = tree_.fields(value, node)) {
      for (const Field& field : *fields) {
        if (value.find(field.name) != nullptr || (top && is_consumed(field.name))) continue;
        list.push_back({field.name, 0, 0, &kNothing, tree_.child(value, node, field.name)});
      }
    }
    return list;
  }

  // These are not values of the experiment.
  static bool is_consumed(std::string_view name) {
    constexpr std::array<std::string_view, 5> kConsumed{"experiment", "base", "defaults", "sweep",
                                                        "restrictions"};
    return std::find(kConsumed.begin(), kConsumed.end(), name) != kConsumed.end();
  }

  const TypedTree& tree_;
  const std::vector<OverrideStep>& steps_;
  std::vector<OverrideStep> taken_;
  std::set<std::string> seen_;
  std::vector<std::vector<OverrideStep>> found_;
};

}  // namespace

// Backtracks only to the last star, so the cost is at most the product of the lengths.
bool matches_glob(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string path_text(const std::vector<OverrideStep>& steps) {
  std::string path;
  for (const OverrideStep& step : steps) {
    path = step.kind == Kind::index ? joined_path(path, step.index) : joined_path(path, step.name);
  }
  return path;
}

std::vector<std::vector<OverrideStep>> match_paths(const Value& filled, const TypedTree& tree,
                                                   const std::vector<OverrideStep>& steps) {
  Matcher matcher(tree, steps);
  matcher.match(filled, tree.root(), 0);
  return matcher.take();
}

}  // namespace trivet
