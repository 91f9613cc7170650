// SPDX-License-Identifier: Apache-2.0
#include "launch/store/disk_records.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/process_info.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::JobEvent;
using launch::JobState;
using launch::JobStatus;
using launch::WorkUnit;

bool ends_with_line(const UniqueFd& file, std::uint64_t size, const fs::path& path) {
  return size == 0 || read_part(file, size - 1, 1, path) == "\n";
}

std::uint64_t size_of(const UniqueFd& file, const fs::path& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw_system_error("read", path, errno);
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace

void append_lines(const fs::path& path, std::string_view lines, Durability durability) {
  if (lines.empty()) return;
  const UniqueFd file = open_file(path, O_RDWR | O_CREAT | O_APPEND);
  lock_file(file, path);
  const bool whole = ends_with_line(file, size_of(file, path), path);
  append_all(file, whole ? std::string(lines) : "\n" + std::string(lines), path);
  if (durability == Durability::synced) sync_file(file, path);
}

UniqueFd lock_units(const fs::path& experiment) {
  const fs::path path = experiment / "units.lock";
  UniqueFd file = open_file(path, O_RDWR | O_CREAT);
  lock_file(file, path);
  return file;
}

std::vector<std::string> LineFollower::next() {
  std::error_code ignored;
  if (!fs::exists(file_, ignored)) return {};
  const UniqueFd file = open_file(file_, O_RDONLY);
  const std::uint64_t size = size_of(file, file_);
  if (size <= offset_) return {};
  const std::string part = read_part(file, offset_, size - offset_, file_);
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = part.find('\n'); end != std::string::npos; end = part.find('\n', begin)) {
    lines.push_back(part.substr(begin, end - begin));
    begin = end + 1;
  }
  offset_ += begin;
  return lines;
}

Value to_value(const JobEvent& event) {
  const JobStatus& status = event.status;
  return Value::table({{"wid", event.wid},
                       {"job", event.job},
                       {"state", enum_name(status.state)},
                       {"attempt", status.attempt},
                       {"failures", status.failures},
                       {"exit_code", status.exit_code ? Value(*status.exit_code) : Value()},
                       {"signal", status.signal},
                       {"time", status.time},
                       {"started", status.started},
                       {"host", status.host},
                       {"detail", status.detail}});
}

JobEvent job_event_from(const Value& value) {
  JobEvent event;
  event.wid = value.integer_or("wid", 0);
  event.job = value.string_or("job");
  const auto state = enum_from_name<JobState>(value.string_or("state"));
  if (!state || event.wid < 1) throw RunError("the line is not an event of a job");
  event.status.state = *state;
  event.status.attempt = value.integer_or("attempt", 0);
  event.status.failures = value.integer_or("failures", 0);
  const Value* exit_code = value.find("exit_code");
  if (exit_code != nullptr && exit_code->is_integer()) {
    event.status.exit_code = static_cast<int>(exit_code->as_integer());
  }
  event.status.signal = static_cast<int>(value.integer_or("signal", 0));
  event.status.time = value.float_or("time", 0);
  event.status.started = value.float_or("started", 0);
  event.status.host = value.string_or("host");
  event.status.detail = value.string_or("detail");
  return event;
}

DiskRecords::DiskRecords(fs::path directory, AddUnit add)
    : directory_(std::move(directory)),
      add_(std::move(add)),
      unit_lines_(directory_ / "units.jsonl"),
      event_lines_(directory_ / "events.jsonl"),
      request_lines_(directory_ / "requests.jsonl") {
  refresh();
}

void DiskRecords::refresh() {
  // Skips incomplete lines of killed processes, and damaged lines, which listings report.
  const auto each = [](LineFollower& lines, const auto& take) {
    for (const std::string& line : lines.next()) {
      try {
        take(value_from_json(line, lines.file().string()));
      } catch (const Error&) {
        continue;
      }
    }
  };
  each(unit_lines_, [&](const Value& value) { units_.push_back(launch::work_unit_from(value)); });
  each(event_lines_, [&](const Value& value) { take_event(job_event_from(value)); });
  each(request_lines_, [&](const Value& value) {
    const std::int64_t wid = value.integer_or("wid", 0);
    const bool cancel = value.string_or("request") == "cancel";
    cancelled_[wid] = cancel;
  });
}

void DiskRecords::take_event(const JobEvent& event) {
  statuses_[{event.wid, event.job}] = event.status;
}

std::int64_t DiskRecords::last_wid() const {
  std::int64_t last = 0;
  for (const WorkUnit& unit : units_) last = std::max(last, unit.wid);
  if (!statuses_.empty()) last = std::max(last, statuses_.rbegin()->first.first);
  if (!cancelled_.empty()) last = std::max(last, cancelled_.rbegin()->first);
  return last;
}

WorkUnit DiskRecords::add(const launch::SweepItem& item) {
  if (!add_) throw Error("these records cannot add units");
  return add_(*this, item);
}

JobStatus DiskRecords::status(std::int64_t wid, std::string_view job) {
  const auto found = statuses_.find(std::pair<std::int64_t, std::string>(wid, job));
  return found == statuses_.end() ? JobStatus() : found->second;
}

void DiskRecords::record(std::span<const JobEvent> events, Durability durability) {
  std::string lines;
  for (const JobEvent& event : events) lines += to_json(to_value(event)) + "\n";
  append_lines(event_lines_.file(), lines, durability);
  for (const JobEvent& event : events) take_event(event);
}

bool DiskRecords::is_cancelled(std::int64_t wid) {
  const auto found = cancelled_.find(wid);
  return found != cancelled_.end() && found->second;
}

const WorkUnit* DiskRecords::find_unit(std::int64_t wid) const {
  for (const WorkUnit& unit : units_) {
    if (unit.wid == wid) return &unit;
  }
  return nullptr;
}

void DiskRecords::append(std::span<const WorkUnit> units) {
  std::string lines;
  for (const WorkUnit& unit : units) lines += to_json(launch::to_value(unit)) + "\n";
  append_lines(unit_lines_.file(), lines, Durability::synced);
  refresh();
}

void DiskRecords::request(std::span<const std::int64_t> wids, std::string_view what) {
  std::string lines;
  for (const std::int64_t wid : wids) {
    lines += to_json(Value::table({{"wid", wid}, {"request", what}, {"time", unix_time()}})) + "\n";
  }
  append_lines(request_lines_.file(), lines, Durability::synced);
  refresh();
}

JobState unit_state(std::span<const JobStatus> jobs) {
  const auto any = [&](JobState state) {
    return std::any_of(jobs.begin(), jobs.end(),
                       [&](const JobStatus& job) { return job.state == state; });
  };
  const bool ended = std::all_of(jobs.begin(), jobs.end(),
                                 [](const JobStatus& job) { return is_final(job.state); });
  constexpr std::array kWhileGoingOn{JobState::running, JobState::preempted, JobState::queued};
  constexpr std::array kAtTheEnd{JobState::failed, JobState::lost, JobState::cancelled,
                                 JobState::skipped};
  if (ended) {
    for (const JobState state : kAtTheEnd) {
      if (any(state)) return state;
    }
    return JobState::completed;
  }
  for (const JobState state : kWhileGoingOn) {
    if (any(state)) return state;
  }
  // The unit is also running between two of its jobs.
  return any(JobState::completed) ? JobState::running : JobState::pending;
}

}  // namespace trivet
