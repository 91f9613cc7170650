// SPDX-License-Identifier: Apache-2.0
// SweepInfo: the work units of a sweep. Each is a set of values, of arguments that all jobs of the
// unit get or of the run's config:
//
//   [xp.sweep_info]
//   type = "sweeps/SimpleSweep"
//   items = [{ batch_size = 32 }, { batch_size = 64 }]       # --batch_size=32, --batch_size=64
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/enums.h"
#include "trivet/config/value.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"

namespace trivet::launch {

// Work units of an experiment at most: a launch and its supervisor keep all of them in memory, a
// few kilobytes each.
inline constexpr std::size_t kMostUnits = 100'000;

struct SweepInfoConfig {};
TRIVET_CONFIG(SweepInfoConfig, trivet::NoBase)

// What the names of a SweepItem name.
enum class SweepTarget {
  argument,  // arguments of the jobs: --NAME=VALUE
  // Paths in the run's config, given to jobs as --cfg.PATH=VALUE. Each unit is checked against the
  // config before anything is started.
  config,
};
TRIVET_ENUM(SweepTarget, argument, config)

// One work unit. Without members: the experiment as it is.
struct SweepItem {
  std::vector<std::pair<std::string, Value>> args;  // name -> value, in order, each name once
  // What directories and listings show of it: "dims" instead of a long path. Empty: args.
  std::vector<std::pair<std::string, Value>> shown{};
  SweepTarget target = SweepTarget::argument;
};

// The input of a sweep.
struct SweepContext {
  Value config;  // the run's, resolved; null when the experiment has none
  Value sweeps;  // its [sweep.NAME] tables by name; a table
  // What xp.sweep says: empty for sweep=true, else the names in order.
  std::vector<std::string> names;
  // What --sweep gives, a table of dimensions as in [sweep.NAME]; null without.
  Value command_line{};
  bool names_none = false;  // xp.sweep asks for nothing: --sweep alone is swept
};

class TRIVET_API SweepInfo : public Object {
 public:
  static constexpr std::string_view kKind = "sweep";
  using Config = SweepInfoConfig;
  using Context = SweepContext;

  ~SweepInfo() override;
  // The same items in the same order on every call. `trivet launch` refuses an empty list.
  // [main-thread]
  virtual std::vector<SweepItem> items() const = 0;
  // Tags of the experiment. Default: none. [main-thread]
  virtual std::vector<std::string> tags() const;
  // Whether xp.sweep must name what is swept. False, the default: it is swept unless xp.sweep is
  // false. [main-thread]
  virtual bool needs_names() const;
};

}  // namespace trivet::launch
