// SPDX-License-Identifier: Apache-2.0
// JobsProvider: the jobs of every work unit, read from the experiment's config.
#pragma once

#include <string_view>
#include <vector>

#include "trivet/config.h"
#include "trivet/export.h"
#include "trivet/launch/job.h"
#include "trivet/registry.h"
#include "trivet/value.h"

namespace trivet {

struct JobsProviderConfig {};
TRIVET_CONFIG(JobsProviderConfig, trivet::NoBase)

class TRIVET_API JobsProvider {
 public:
  static constexpr std::string_view kKind = "jobs";
  using Config = JobsProviderConfig;
  using Context = NoContext;

  virtual ~JobsProvider();
  virtual std::vector<Job> jobs(const Value& config) const = 0;
};

}  // namespace trivet
