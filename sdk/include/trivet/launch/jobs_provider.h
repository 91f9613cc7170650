// SPDX-License-Identifier: Apache-2.0
// JobsProvider: jobs that the run's config asks for. What [xp.jobs.NAME] says is laid over them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/launch/job.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"

namespace trivet::launch {

struct JobsProviderConfig {};
TRIVET_CONFIG(JobsProviderConfig, trivet::NoBase)

class TRIVET_API JobsProvider : public Object {
 public:
  static constexpr std::string_view kKind = "jobs";
  using Config = JobsProviderConfig;
  using Context = NoContext;

  ~JobsProvider() override;
  // By name, in the order in which they are started; the first is the main job. `config` is the
  // run's, resolved; null when there is none. Throws Error when it needs one.
  // [main-thread]
  virtual std::vector<std::pair<std::string, JobConfig>> jobs(const Value& config) const = 0;
};

}  // namespace trivet::launch
