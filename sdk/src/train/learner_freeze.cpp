// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "trivet/config/patterns.h"
#include "trivet/error.h"
#include "trivet/train/learner.h"

namespace trivet {
namespace {

// Those that the patterns match, each of which must match one.
std::set<Parameter*> matched(const ParameterStore& store, const std::vector<std::string>& patterns,
                             const char* field) {
  std::set<Parameter*> found;
  for (const std::string& text : patterns) {
    const Patterns pattern({text});
    bool any = false;
    for (const auto& parameter : store.parameters()) {
      if (!pattern.matches(parameter->path())) continue;
      any = true;
      found.insert(parameter.get());
    }
    if (any) continue;
    throw ConfigError(Diagnostic{.path = field,
                                 .what = "'" + text + "' matches no variable",
                                 .hint = "a pattern must match a whole path, e.g. \"body/.*\""});
  }
  return found;
}

void expect_trainable(const ParameterStore& store, const char* field) {
  for (const auto& parameter : store.parameters()) {
    if (parameter->trainable()) return;
  }
  throw ConfigError(
      Diagnostic{.path = field, .what = "every variable is frozen: nothing is trained"});
}

}  // namespace

void freeze(ParameterStore& store, const std::vector<std::string>& patterns) {
  constexpr const char* kField = "trainer.frozen";
  const std::set<Parameter*> found = matched(store, patterns, kField);
  for (const auto& parameter : store.parameters()) {
    if (found.contains(parameter.get())) store.freeze(*parameter);
  }
  if (!patterns.empty()) expect_trainable(store, kField);
}

void freeze_others(ParameterStore& store, const std::vector<std::string>& patterns) {
  constexpr const char* kField = "trainer.trainable";
  const std::set<Parameter*> kept = matched(store, patterns, kField);
  for (const auto& parameter : store.parameters()) {
    if (!kept.contains(parameter.get())) store.freeze(*parameter);
  }
  expect_trainable(store, kField);
}

}  // namespace trivet
