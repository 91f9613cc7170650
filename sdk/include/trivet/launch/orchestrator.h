// SPDX-License-Identifier: Apache-2.0
// Orchestrator: runs the work units of an experiment somewhere: on this machine, on a cluster.
//
// The life of an orchestrator is spread over processes, which meet in the experiment's directory:
//
//   trivet launch     records the units, then calls launch(). It may end at any moment.
//   a supervisor      for those with has_supervisor(): a process without a terminal in which
//                     supervise() works until every unit has ended. One at a time for an
//                     experiment; start_supervisor() and `trivet resume` start it.
//   trivet cancel     marks the units in the records and calls cancel().
//   trivet resume     calls launch() again with the units that have not ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/launch/job.h"
#include "trivet/launch/unit_records.h"
#include "trivet/object.h"
#include "trivet/plugin/registry.h"

namespace trivet::launch {

struct OrchestratorConfig {};
TRIVET_CONFIG(OrchestratorConfig, trivet::NoBase)

// Outlives the orchestrator.
struct OrchestratorContext {
  std::filesystem::path experiment_directory;
  UnitRecords& records;
  // Starts the supervisor unless one is at work already.
  std::function<void()> start_supervisor;
  // This program, for the scripts of a cluster's jobs (job_array.h).
  std::filesystem::path program{};
};

// The arguments of supervise().
struct Supervision {
  // True when the supervisor is to end (SIGTERM): jobs continue, and a later supervisor finds them.
  // Call it once a second at least, and after each wake: it quiets wake_fd and is the heartbeat.
  std::function<bool()> should_stop;
  // Readable when something may have changed: more units, a cancelled unit, should_stop. A
  // supervisor waits for it beside the ends of its jobs, at most a second: a file system may not
  // tell of everything.
  int wake_fd = -1;
};

class TRIVET_API Orchestrator : public Object {
 public:
  static constexpr std::string_view kKind = "orchestrator";
  using Config = OrchestratorConfig;
  using Context = OrchestratorContext;

  ~Orchestrator() override;

  // What is wrong with these units for this orchestrator, before anything is recorded: a job that
  // takes more than any machine has, a program that a cluster lacks. Default: nothing.
  // [main-thread]
  virtual void check(std::span<const WorkUnit> units, Diagnostics& diagnostics);

  // Queues units, which are recorded; returns once that is durable. Units that are queued, run or
  // have ended already are left alone. Throws RunError when they cannot be queued. [main-thread]
  virtual void launch(std::span<const WorkUnit> units) = 0;

  // Ends the jobs of units that are marked cancelled in the records: SIGTERM, a while to save, then
  // SIGKILL. Returns once the signals are sent. [main-thread]
  virtual void cancel(std::span<const std::int64_t> wids) = 0;

  // Brings the records up to date with what only the orchestrator knows; only while no supervisor
  // is at work. Called before somebody looks at the units, and before they are retried or resumed.
  // Throws RunError when it cannot know (a cluster that does not answer); what the records say is
  // shown then. Default: nothing. [main-thread]
  virtual void refresh(std::span<const std::int64_t> wids);

  // True for one that makes its units itself, by UnitRecords::add: there are none at first.
  // Default: false. [main-thread]
  virtual bool makes_units() const;

  // Whether it starts jobs of several processes (Job::replicas). Else the launch refuses such jobs,
  // and a run of several starts its processes itself: its job is one process, with the cores, the
  // memory and the GPUs of all. Default: false. [main-thread]
  virtual bool takes_replicas() const;

  // Whether the jobs named `job` get a value of the sweep, beside what their `swept` says. The
  // same answer at every launch: the identity of a unit depends on it. Default: true. [main-thread]
  virtual bool gets(std::string_view job, std::string_view swept) const;

  // For a dry run: what it will make its units of, line by line. Default: nothing. [main-thread]
  virtual std::vector<std::string> intent() const;

  // Whether supervise() is to run in a process of its own. Default: false. [main-thread]
  virtual bool has_supervisor() const;
  // Works until every unit has ended or should_stop() is true. An exception ends the supervisor and
  // goes to its log; `trivet resume` starts another. Default: throws Error. [main-thread]
  virtual void supervise(const Supervision& supervision);
};

}  // namespace trivet::launch
