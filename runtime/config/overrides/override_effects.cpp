// SPDX-License-Identifier: Apache-2.0
#include "config/overrides/override_effects.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace trivet {
namespace {

bool is_below(std::string_view path, std::string_view parent) {
  return path.size() > parent.size() && path.starts_with(parent) &&
         (path[parent.size()] == '.' || path[parent.size()] == '[');
}

bool touches(std::string_view a, std::string_view b) {
  return a == b || is_below(a, b) || is_below(b, a);
}

bool is_same(const Value& found, const Value& wanted) {
  const auto number = [](const Value& value) { return value.is_integer() || value.is_float(); };
  return found == wanted ||
         (number(found) && number(wanted) && found.as_float() == wanted.as_float());
}

// Whether the value of an override sets something at `path`.
bool gives(const AppliedOverride& one, const std::string& path) {
  if (!is_below(path, one.path)) return false;
  const Value whole = Value::table({{"it", one.value}});
  return whole.find_path("it" + path.substr(one.path.size())) != nullptr;
}

Diagnostic vain(const AppliedOverride& one, std::string what) {
  const OverrideStep& first = one.placed->parsed.steps.front();
  return {override_origin(*one.placed->given, one.placed->number, first.at), one.path,
          std::move(what), "remove one of them"};
}

// The value at a path, under current or old field names, and its schema.
std::pair<const Value*, SchemaNode> find_at(const Value& root, const TypedTree& tree,
                                            const std::string& path) {
  const Value* found = &root;
  SchemaNode node = tree.root();
  for (const PathStep& step : split_path(path)) {
    const Value* next = nullptr;
    if (step.index < 0) {
      const SchemaNode inner = tree.child(*found, node, step.name);
      Field named;
      named.name = step.name;
      const Value::Member* member =
          find_member(const_cast<Value&>(*found), inner.field ? *inner.field : named);
      if (member != nullptr) next = &member->value;
      node = inner;
    } else if (found->is_array() && static_cast<std::size_t>(step.index) < found->items().size()) {
      next = &found->items()[static_cast<std::size_t>(step.index)];
      node = tree.element(node);
    }
    if (next == nullptr) return {};
    found = next;
  }
  return {found, node};
}

// Compares the values that were set with the result.
class Comparison {
 public:
  explicit Comparison(const TypedTree& tree) : tree_(tree) {}

  void compare(Value wanted, const Value* there, const SchemaNode& node, const std::string& path) {
    Value found = there != nullptr ? *there : Value();
    if (!is_same(found, wanted)) {
      tree_.expand(wanted, node);
      tree_.expand(found, node);
    }
    if (wanted.is_table() && !wanted.members().empty()) return members(wanted, found, node, path);
    const bool list = wanted.is_array() && found.is_array() && !wanted.items().empty() &&
                      wanted.items().size() == found.items().size();
    if (!list) {
      const bool kept = is_same(found, wanted) || (wanted.is_table() && found.is_table());
      return kept ? void(++kept_) : lost_.push_back(path);
    }
    for (std::size_t i = 0; i < wanted.items().size(); ++i) {
      compare(wanted.items()[i], &found.items()[i], tree_.element(node), joined_path(path, i));
    }
  }

  std::size_t kept() const { return kept_; }
  const std::vector<std::string>& lost() const { return lost_; }

 private:
  void members(const Value& wanted, Value& found, const SchemaNode& node, const std::string& path) {
    const Value* type = wanted.find("type");
    const bool other =
        type != nullptr && node.is_config() && tree_.key_at(found, node) != type->as_string();
    for (const Value::Member& member : wanted.members()) {
      const SchemaNode inner = tree_.child(wanted, node, member.key);
      Field named;
      named.name = member.key;
      const Field& field = inner.field != nullptr ? *inner.field : named;
      // Under another type a key has another meaning.
      const Value::Member* there = other ? nullptr : find_member(found, field);
      compare(member.value, there != nullptr ? &there->value : nullptr, inner,
              joined_path(path, field.name));
    }
  }

  const TypedTree& tree_;
  std::size_t kept_ = 0;
  std::vector<std::string> lost_;
};

class EffectCheck {
 public:
  EffectCheck(const Value& root, const TypedTree& tree, const std::vector<AppliedOverride>& applied,
              Diagnostics& diagnostics)
      : root_(root), tree_(tree), applied_(applied), diagnostics_(diagnostics) {}

  void check() {
    for (const AppliedOverride& one : applied_) check(one);
    for (std::size_t i = 1; i < applied_.size(); ++i) check_rivals(i);
  }

 private:
  void check(const AppliedOverride& one) {
    Comparison comparison(tree_);
    comparison.compare(one.value, find_at(root_, tree_, one.path).first, one.node, one.path);
    const auto& lost = comparison.lost();
    if (lost.empty()) return;
    const bool said_inside =
        comparison.kept() > 0 && std::all_of(lost.begin(), lost.end(), [&](const auto& path) {
          return is_said_inside(one, path);
        });
    if (!said_inside && !gives_way(one)) report(one);
  }

  // A table may keep a part of an earlier value of the same path: the result would depend on the
  // order of the two.
  void check_rivals(std::size_t i) {
    const AppliedOverride& one = applied_[i];
    for (std::size_t j = 0; j < i; ++j) {
      const AppliedOverride& other = applied_[j];
      const bool rivals = one.path == other.path && is_lower(one) == is_lower(other) &&
                          sets_type(one) == sets_type(other);
      if (!rivals || reported_.contains(one.placed->number) ||
          reported_.contains(other.placed->number) || means_same(one, other)) {
        continue;
      }
      reported_.insert(other.placed->number);
      diagnostics_.add(vain(other, "'" + one.placed->given->shown + "' sets this, too"));
    }
  }

  bool means_same(const AppliedOverride& a, const AppliedOverride& b) const {
    Value left = a.value, right = b.value;
    tree_.expand(left, a.node);
    tree_.expand(right, b.node);
    return is_same(left, right);
  }

  // Whether the path ends with ".type" and so does not set the rest of the part.
  static bool sets_type(const AppliedOverride& one) {
    const std::vector<OverrideStep>& steps = one.placed->parsed.steps;
    return steps.size() > 1 && steps.back().name == "type";
  }

  bool is_said_inside(const AppliedOverride& one, const std::string& path) const {
    return std::any_of(applied_.begin(), applied_.end(), [&](const AppliedOverride& other) {
      const bool weaker = is_lower(other) && !is_lower(one);
      return is_below(other.path, one.path) && touches(other.path, path) && !weaker;
    });
  }

  bool gives_way(const AppliedOverride& one) const {
    return is_lower(one) &&
           std::any_of(applied_.begin(), applied_.end(), [&](const AppliedOverride& other) {
             return other.path == one.path && !is_lower(other);
           });
  }

  static bool is_lower(const AppliedOverride& one) { return one.placed->given->is_lower; }

  // The last applied override of the location replaced it.
  void report(const AppliedOverride& one) {
    if (!reported_.insert(one.placed->number).second) return;
    std::string what = "the override has no effect";
    for (auto other = applied_.rbegin(); other != applied_.rend(); ++other) {
      if (other->placed->number == one.placed->number || !touches(other->path, one.path)) continue;
      what += ": '" + other->placed->given->shown + "' replaces it";
      break;
    }
    diagnostics_.add(vain(one, std::move(what)));
  }

  const Value& root_;
  const TypedTree& tree_;
  const std::vector<AppliedOverride>& applied_;
  Diagnostics& diagnostics_;
  std::set<int> reported_;
};

}  // namespace

void check_effects(const Value& root, const TypedTree& tree,
                   const std::vector<AppliedOverride>& applied, Diagnostics& diagnostics) {
  EffectCheck(root, tree, applied, diagnostics).check();
}

void check_removed(const std::vector<AppliedOverride>& applied,
                   const std::vector<AppliedOverride>& removed, Diagnostics& diagnostics) {
  for (const AppliedOverride& one : applied) {
    for (const AppliedOverride& gone : removed) {
      if (one.path != gone.path && !is_below(one.path, gone.path) && !gives(one, gone.path)) {
        continue;
      }
      diagnostics.add(
          vain(one, "the override has no effect: '" + gone.placed->given->shown + "' removes it"));
      break;
    }
  }
}

bool says(const Value& root, const TypedTree& tree, const std::string& path, const Value& wanted) {
  const auto [found, node] = find_at(root, tree, path);
  if (found == nullptr) return false;
  Comparison comparison(tree);
  comparison.compare(wanted, found, node, path);
  return comparison.lost().empty();
}

}  // namespace trivet
