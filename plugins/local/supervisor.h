// SPDX-License-Identifier: Apache-2.0
// Supervisor: starts the jobs of an experiment as there is room, and records what becomes of them,
// until all have ended. It sleeps until a keeper ends, the host tells of news, or a job may be
// tried again.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cgroup_place.h"
#include "ledger.h"
#include "machine.h"
#include "room.h"
#include "running_tasks.h"
#include "tasks.h"
#include "trivet/launch/orchestrator.h"

namespace trivet::local {

struct SupervisorOptions {
  double grace_seconds = 30;
  bool fail_fast = false;
  bool cgroups = true;
};

class Supervisor {
 public:
  Supervisor(launch::UnitRecords& records, const Machine& machine, const Limits& limits,
             const SupervisorOptions& options);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void run(const Supervision& supervision);

 private:
  // For jobs that declare their memory; found at the first one.
  void find_cgroup_place();

  // The records: units that are new, cancelled, or to be tried again.
  void read_records();
  void take_up(UnitTasks& unit, Task& task);
  void reopen(UnitTasks& unit);
  void cancel(UnitTasks& unit, const std::string& why);
  void end(const UnitTasks& unit, Task& task);
  void tell(const UnitTasks& unit, Task& task, const std::string& why);
  bool write_events();  // false when they cannot be written now

  // What can be started.
  void skip_hopeless();
  void admit();
  void renew_ticket(const Room& room, const Ledger::Page& page);
  // All jobs of the unit that wait for no other start together, the others as each can.
  void admit_from(UnitTasks& unit, Room& room);
  void admit_together(UnitTasks& unit, const std::vector<Task*>& together, Room& room);
  // Asks for the first one that may start; false when none may.
  bool admit_one(UnitTasks& unit, std::vector<Task*>& waiting, Room& room);
  void start(UnitTasks& unit, Task& task, Room& room);
  void postpone(const UnitTasks& unit, Task& task, const std::string& why);
  void pause(Task& task);

  // What has ended.
  void watch(UnitTasks& unit, Task& task, pid_t keeper);
  void collect(UnitTasks& unit, Task& task);
  void settle(const UnitTasks& unit, Task& task, const launch::JobStatus& attempt);

  void wait(int wake_fd);
  int wait_milliseconds();
  bool is_done();
  void set_state(const UnitTasks& unit, Task& task, const launch::JobStatus& status);

  launch::UnitRecords& records_;
  const Machine& machine_;
  const Limits limits_;
  const SupervisorOptions options_;
  Ledger ledger_;
  std::optional<Ticket> ticket_;
  std::optional<CgroupPlace> cgroups_;

  std::deque<UnitTasks> units_;    // by wid
  std::vector<UnitTasks*> order_;  // as they start: higher priorities first, then by wid
  std::size_t first_open_ = 0;     // units before it in that order have ended
  RunningTasks running_;
  std::vector<launch::JobEvent> events_;  // that are not recorded yet
  bool can_write_ = true;
  Clock::time_point try_again_at_ = Clock::time_point::max();
  bool rows_changed_ = false;
  Clock::time_point read_at_{};
  Clock::duration read_took_{};
  bool has_news_ = true;
};

}  // namespace trivet::local
