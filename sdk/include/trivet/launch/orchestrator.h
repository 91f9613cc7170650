// SPDX-License-Identifier: Apache-2.0
// Orchestrator: runs the work units of an experiment somewhere: on this machine, on a cluster.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config.h"
#include "trivet/export.h"
#include "trivet/launch/job.h"
#include "trivet/registry.h"

namespace trivet {

struct OrchestratorConfig {};
TRIVET_CONFIG(OrchestratorConfig, trivet::NoBase)

enum class UnitState { pending, running, done, failed, preempted, cancelled, lost };
TRIVET_ENUM(UnitState, pending, running, done, failed, preempted, cancelled, lost)

struct UnitStatus {
  std::int64_t wid = 0;
  UnitState state = UnitState::pending;
  std::string detail;  // why, for people
};

struct OrchestratorContext {
  std::filesystem::path experiment_directory;
};

class TRIVET_API Orchestrator {
 public:
  static constexpr std::string_view kKind = "orchestrator";
  using Config = OrchestratorConfig;
  using Context = OrchestratorContext;

  virtual ~Orchestrator();
  // Hands the units over; returns once they are safely queued.
  virtual void launch(std::span<const WorkUnit> units) = 0;
  virtual std::vector<UnitStatus> status(std::span<const std::int64_t> wids) = 0;
  virtual void cancel(std::span<const std::int64_t> wids) = 0;
};

}  // namespace trivet
