// SPDX-License-Identifier: Apache-2.0
// Schedule: a number as a function of the step, e.g. a learning rate. Pure: no state.
#pragma once

#include <cstdint>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"

namespace trivet {

struct ScheduleConfig {};
TRIVET_CONFIG(ScheduleConfig, trivet::NoBase)

class TRIVET_API Schedule : public Object {
 public:
  static constexpr std::string_view kKind = "schedule";
  using Config = ScheduleConfig;
  using Context = NoContext;

  ~Schedule() override;
  // `step` counts updates already done: the first update uses step 0. [any-thread]
  virtual double value(std::int64_t step) const = 0;
};

}  // namespace trivet
