// SPDX-License-Identifier: Apache-2.0
// SubdirFormat: names the directories of experiments and work units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trivet/config.h"
#include "trivet/export.h"
#include "trivet/launch/sweep_info.h"
#include "trivet/registry.h"

namespace trivet {

struct SubdirFormatConfig {};
TRIVET_CONFIG(SubdirFormatConfig, trivet::NoBase)

class TRIVET_API SubdirFormat {
 public:
  static constexpr std::string_view kKind = "subdir";
  using Config = SubdirFormatConfig;
  using Context = NoContext;

  virtual ~SubdirFormat();
  virtual std::string experiment(std::int64_t xid, std::string_view name) const = 0;
  virtual std::string unit(std::int64_t wid, const SweepItem& item) const = 0;
};

}  // namespace trivet
