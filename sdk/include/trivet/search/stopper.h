// SPDX-License-Identifier: Apache-2.0
// Stopper: ends trials of a search that will not become good, from what was measured so far.
//
// Example (sdk/examples/snippets/search.cpp#stopper):
//
//   search::StopperContext context{.goal = Goal::max};
//   auto stopper = trivet::make(config.stopper, context);  // "search/Median"
//   if (const auto reason = stopper->should_stop(trial, trials)) stop(trial, *reason);
//
// A stopper keeps nothing between two calls: the same trials give the same answer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"
#include "trivet/search/trial.h"

namespace trivet::search {

struct StopperConfig {};
TRIVET_CONFIG(StopperConfig, trivet::NoBase)

struct StopperContext {
  Goal goal = Goal::min;
};

class TRIVET_API Stopper : public Object {
 public:
  static constexpr std::string_view kKind = "stopper";
  using Config = StopperConfig;
  using Context = StopperContext;

  ~Stopper() override;
  // Why a running trial stops now, for people ("step 100: 0.61 is ..."); nothing: it continues.
  // `trials` holds all of the search, itself among them, in any order. [any-thread]
  virtual std::optional<std::string> should_stop(const Trial& trial,
                                                 std::span<const Trial> trials) const = 0;
};

}  // namespace trivet::search
