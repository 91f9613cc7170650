// SPDX-License-Identifier: Apache-2.0
// SweepInfo: the work units of a sweep, each a set of overrides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trivet/config.h"
#include "trivet/export.h"
#include "trivet/registry.h"
#include "trivet/value.h"

namespace trivet {

struct SweepInfoConfig {};
TRIVET_CONFIG(SweepInfoConfig, trivet::NoBase)

// One work unit: config path -> value, in order. Empty: the experiment as it is.
struct SweepItem {
  std::vector<std::pair<std::string, Value>> overrides;
};

class TRIVET_API SweepInfo {
 public:
  static constexpr std::string_view kKind = "sweep";
  using Config = SweepInfoConfig;
  using Context = NoContext;

  virtual ~SweepInfo();
  // The same items in the same order on every call. `config` is the resolved experiment.
  virtual std::vector<SweepItem> items(const Value& config) const = 0;
  virtual std::vector<std::string> tags() const;  // none
};

}  // namespace trivet
