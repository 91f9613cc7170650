// SPDX-License-Identifier: Apache-2.0
// OneByOne: runs the jobs of an experiment on this machine, one after the other, in the order of
// the units. The SDK starts, ends and describes the processes (trivet/launch/attempt.h). Losing the
// memory does no harm: a later supervisor finds the running job in its directory.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>

#include <trivet/launch/attempt.h>
#include <trivet/launch/dependencies.h>
#include <trivet/launch/orchestrator.h>
#include <trivet/os/file.h>
#include <trivet/os/process.h>

namespace acme {

namespace launch = trivet::launch;

// [public]
struct OneByOneConfig : trivet::launch::OrchestratorConfig {
  trivet::Duration grace = 30;
};
TRIVET_CONFIG(OneByOneConfig, trivet::launch::OrchestratorConfig,
              (grace, "Time that a job has to save when it is cancelled.", at_least(0)))

class OneByOne final : public trivet::launch::Orchestrator {
 public:
  using Config = OneByOneConfig;

  OneByOne(const Config& config, trivet::launch::OrchestratorContext& context)
      : grace_(config.grace.seconds), context_(context), records_(context.records) {}

  void launch(std::span<const launch::WorkUnit>) override { context_.start_supervisor(); }

  void cancel(std::span<const std::int64_t> wids) override {
    visit_jobs(records_, wids, [&](const auto& unit, const auto& job, const auto&) {
      end(unit, job, current_status(unit, job));
    });
  }

  void refresh(std::span<const std::int64_t> wids) override {
    visit_jobs(records_, wids,
               [&](const auto& unit, const auto& job, const auto&) { current_status(unit, job); });
  }

  bool has_supervisor() const override { return true; }

  void supervise(const trivet::launch::Supervision& supervision) override {
    while (!supervision.should_stop()) {
      records_.refresh();
      if (!has_work()) return;
      wait(supervision.wake_fd);
    }
  }
  // [/public]

 private:
  using Job = launch::Job;
  using State = launch::JobState;
  using Status = launch::JobStatus;
  using Unit = launch::WorkUnit;
  using Clock = std::chrono::steady_clock;
  enum class Progress { ended, waits, runs };

  // False once every job of every unit has ended. Looks no further than the job that runs.
  bool has_work() {
    shim_ = 0;
    bool has_waiting = false;
    for (const Unit& unit : records_.units()) {
      for (const Job& job : unit.jobs) {
        const Progress progress = advance(unit, job);
        if (progress == Progress::runs) return true;
        has_waiting = has_waiting || progress == Progress::waits;
      }
    }
    return has_waiting;
  }

  Progress advance(const Unit& unit, const Job& job) {
    Status status = current_status(unit, job);
    if (records_.is_cancelled(unit.wid)) status = end(unit, job, status);
    if (is_final(status.state)) return Progress::ended;
    if (status.state == State::running) {
      shim_ = launch::read_attempt(job, status.attempt).shim;
      return Progress::runs;
    }
    Status other;
    const auto answer = launch::readiness_of(job, [&](std::string_view name) {
      other = records_.status(unit.wid, name);
      return &other;
    });
    if (answer.readiness == launch::Readiness::never) {
      status.state = State::skipped;
      status.detail = answer.why;
      record(unit, job, status);
      return Progress::ended;
    }
    const bool may_start = answer.readiness == launch::Readiness::ready;
    if (!may_start || Clock::now() < not_before_) return Progress::waits;
    return start(unit, job, status);
  }

  Progress start(const Unit& unit, const Job& job, Status status) {
    try {
      shim_ = launch::start_attempt(job, status.attempt + 1, {.grace_seconds = grace_});
    } catch (const launch::RetryError&) {
      pause();  // the disk is full, or no more processes may be started: later it may work
      return Progress::waits;
    } catch (const trivet::RunError& error) {
      status.state = State::failed;
      status.detail = error.message();
      record(unit, job, status);
      return Progress::ended;
    }
    status.state = State::running;
    status.attempt += 1;
    status.host = trivet::host_name();
    status.started = trivet::unix_time();
    record(unit, job, status);
    return Progress::runs;
  }

  // As the records say it, and the files of the job's attempts, which know more after a crash.
  Status current_status(const Unit& unit, const Job& job) {
    const Status recorded = records_.status(unit.wid, job.name);
    if (is_final(recorded.state)) return recorded;
    const std::optional<Status> now = launch::unrecorded_status(job, recorded);
    if (!now) return recorded;
    record(unit, job, *now);
    const bool starts_again = !is_final(now->state) && now->state != State::running;
    if (starts_again && launch::was_short(*now)) {
      pause();
    } else {
      short_runs_ = 0;
    }
    return *now;
  }

  // The status stays as it is while the job saves: the shim writes down how it ended.
  Status end(const Unit& unit, const Job& job, Status status) {
    if (is_final(status.state)) return status;
    if (status.state == State::running) {
      launch::end_attempt(job, status.attempt, launch::kReasonCancelled, grace_);
      return status;
    }
    status.state = State::cancelled;
    record(unit, job, status);
    return status;
  }

  void record(const Unit& unit, const Job& job, Status status) {
    if (status.time <= records_.status(unit.wid, job.name).time) status.time = trivet::unix_time();
    const launch::JobEvent event{unit.wid, job.name, status};
    records_.record({&event, 1});
  }

  // A job that fails at once must not be started over and over.
  void pause() {
    const std::chrono::duration<double> seconds(launch::pause_after(++short_runs_));
    not_before_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
  }

  // For the end of the job, or for news in the records.
  void wait(int wake_fd) {
    const long pidfd = shim_ > 0 ? ::syscall(SYS_pidfd_open, shim_, 0) : -1;
    const trivet::UniqueFd job(static_cast<int>(pidfd));
    std::array files{pollfd{wake_fd, POLLIN, 0}, pollfd{job.get(), POLLIN, 0}};
    const auto pause = std::chrono::ceil<std::chrono::milliseconds>(not_before_ - Clock::now());
    const bool pauses = pause.count() > 0 && pause.count() < 1000;
    ::poll(files.data(), files.size(), pauses ? static_cast<int>(pause.count()) : 1000);
    if (shim_ > 0) ::waitpid(shim_, nullptr, WNOHANG);  // it is a child of who started it
  }

  double grace_;
  trivet::launch::OrchestratorContext& context_;
  launch::UnitRecords& records_;
  pid_t shim_ = 0;  // that looks after the running job
  int short_runs_ = 0;
  Clock::time_point not_before_{};
};

}  // namespace acme
