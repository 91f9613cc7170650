// SPDX-License-Identifier: Apache-2.0
#include "config/overrides/apply_overrides.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "config/overrides/match_paths.h"
#include "config/overrides/override_applier.h"
#include "config/overrides/override_effects.h"

namespace trivet {
namespace {

using OverrideAction = ParsedOverride::Action;
using Kind = OverrideStep::Kind;

bool is_glob(const OverrideStep& step) {
  return step.kind != Kind::name && step.kind != Kind::index;
}

bool has_globs(const LocatedOverride& placed) {
  const auto& steps = placed.parsed.steps;
  return std::any_of(steps.begin(), steps.end(), is_glob);
}

bool removes(const LocatedOverride& placed) {
  return placed.parsed.action == OverrideAction::remove;
}

bool names_type(const std::vector<OverrideStep>& steps) {
  return steps.size() > 1 && steps.back().kind == Kind::name && steps.back().name == "type";
}

// Short paths come before long ones, so tables come before their contents, and the type of a part
// before its table, which may lack a type. Removals come last, from the end of a list, so that
// indices stay valid.
bool comes_before(const LocatedOverride& a, const LocatedOverride& b) {
  const auto& left = a.parsed.steps;
  const auto& right = b.parsed.steps;
  if (!removes(a)) {
    const auto depth = [](const auto& steps) {
      return 2 * steps.size() - (names_type(steps) ? 3 : 0);
    };
    return std::tuple(depth(left), b.given->is_lower) < std::tuple(depth(right), a.given->is_lower);
  }
  if (left.size() != right.size()) return left.size() > right.size();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].index != right[i].index) return left[i].index > right[i].index;
  }
  return false;
}

void add_all(const ConfigError& error, Diagnostics& diagnostics) {
  for (const Diagnostic& problem : error.diagnostics()) diagnostics.add(problem);
}

std::vector<AppliedOverride> apply_in_order(Value& root, const TypedTree& tree,
                                            std::vector<LocatedOverride>& placed,
                                            Diagnostics& diagnostics) {
  std::stable_sort(placed.begin(), placed.end(), comes_before);
  std::vector<AppliedOverride> applied;
  for (const LocatedOverride& one : placed) {
    try {
      applied.push_back(OverrideApplier(root, tree, one).apply());
    } catch (const ConfigError& error) {
      add_all(error, diagnostics);
    }
  }
  return applied;
}

// Replaces globs by the locations that they match after all other overrides. A glob may set a type
// whose fields other globs match, so this repeats until nothing new is found.
class GlobPlacer {
 public:
  GlobPlacer(const Value& root, const TypedTree& tree, const std::vector<LocatedOverride>& given)
      : root_(root), tree_(tree) {
    for (const LocatedOverride& one : given) (has_globs(one) ? globs_ : plain_).push_back(one);
    for (const LocatedOverride& one : plain_) {
      if (!removes(one)) named_.insert(part_path(one.parsed.steps));
    }
  }

  std::vector<LocatedOverride> location(Diagnostics& diagnostics) {
    if (globs_.empty()) return plain_;
    constexpr int kMostRounds = 4;
    std::vector<LocatedOverride> all = plain_;
    for (int round = 0; round < kMostRounds; ++round) {
      const std::size_t before = all.size();
      found_ = Diagnostics();
      all = matched(all);
      if (round > 0 && all.size() == before) break;
    }
    for (const Diagnostic& problem : found_.list()) diagnostics.add(problem);
    return all;
  }

 private:
  // Without the last step of a path to a type.
  static std::string part_path(std::vector<OverrideStep> steps) {
    if (names_type(steps)) steps.pop_back();
    return path_text(steps);
  }

  // Matches each glob on the tree without its own results, which could match without end.
  std::vector<LocatedOverride> matched(const std::vector<LocatedOverride>& last) {
    std::vector<LocatedOverride> all = plain_;
    for (const LocatedOverride& glob : globs_) {
      std::vector<LocatedOverride> others;
      std::copy_if(last.begin(), last.end(), std::back_inserter(others),
                   [&](const auto& one) { return one.number != glob.number && !removes(one); });
      Value changed = root_;
      Diagnostics ignored;  // reported again when they are applied
      apply_in_order(changed, tree_, others, ignored);
      add_matches(glob, filled_copy(changed, tree_), all);
    }
    return all;
  }

  void add_matches(const LocatedOverride& glob, const Value& filled,
                   std::vector<LocatedOverride>& all) {
    const std::vector<OverrideStep>& steps = glob.parsed.steps;
    if (steps.back().kind == Kind::any_depth) {
      return add(glob, steps.back().at, "bad override: a path cannot end with **", {});
    }
    const auto locations = match_paths(filled, tree_, steps);
    if (locations.empty()) return report_no_match(glob, filled);
    const std::size_t before = all.size();
    for (const auto& location : locations) {
      if (!removes(glob) && named_.count(part_path(location)) > 0) continue;
      all.push_back(glob);
      all.back().parsed.steps = location;
    }
    if (all.size() == before) {
      add(glob, steps[0].at,
          "the override has no effect: other overrides name every location that it matches",
          "remove it");
    }
  }

  void report_no_match(const LocatedOverride& glob, const Value& filled) {
    const std::string& last = glob.parsed.steps.back().name;
    std::vector<std::string> names;
    const std::vector<OverrideStep> anything{{Kind::any_depth}, {Kind::name_glob, "*"}};
    for (const auto& location : match_paths(filled, tree_, anything)) {
      if (!location.back().name.empty()) names.push_back(location.back().name);
    }
    const bool near = !nearest_names(last, names).empty();
    add(glob, glob.parsed.steps[0].at, "this matches nothing in the config",
        near ? suggestion(last, names) : "trivet config show prints all paths");
  }

  void add(const LocatedOverride& glob, std::size_t at, std::string what, std::string hint) {
    found_.add(
        {override_origin(*glob.given, glob.number, at), {}, std::move(what), std::move(hint)});
  }

  const Value& root_;
  const TypedTree& tree_;
  std::vector<LocatedOverride> plain_, globs_;
  std::set<std::string> named_;
  Diagnostics found_;
};

}  // namespace

bool is_free_section(std::string_view name) noexcept {
  return name == "xp" || name == "backend" || name == "defaults" || name == "sweep";
}

void apply_overrides(Value& root, const TypedTree& tree, const std::vector<Override>& overrides,
                     Diagnostics& diagnostics) {
  std::vector<LocatedOverride> given;
  int number = 0;
  for (const Override& one : overrides) {
    ++number;
    try {
      given.push_back({&one, number, parse_override(one, number)});
    } catch (const ConfigError& error) {
      add_all(error, diagnostics);
    }
  }
  std::vector<LocatedOverride> placed = GlobPlacer(root, tree, given).location(diagnostics);
  std::vector<LocatedOverride> removing;
  std::copy_if(placed.begin(), placed.end(), std::back_inserter(removing), removes);
  std::erase_if(placed, removes);
  const std::vector<AppliedOverride> applied = apply_in_order(root, tree, placed, diagnostics);
  // A failed override may be the cause of other errors.
  if (applied.size() == placed.size()) check_effects(root, tree, applied, diagnostics);
  check_removed(applied, apply_in_order(root, tree, removing, diagnostics), diagnostics);
}

}  // namespace trivet
