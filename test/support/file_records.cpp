// SPDX-License-Identifier: Apache-2.0
#include "support/file_records.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "trivet/config/enums.h"
#include "trivet/config/json.h"

namespace trivet::test {

using launch::JobEvent;
using launch::JobState;
using launch::JobStatus;

FileRecords::FileRecords(std::filesystem::path directory, std::vector<launch::WorkUnit> units)
    : events_(directory / "events.jsonl"),
      directory_(std::move(directory)),
      units_(std::move(units)) {
  refresh();
}

launch::WorkUnit FileRecords::add(const launch::SweepItem&) {
  throw std::logic_error("no orchestrator that is tested with these records adds units");
}

JobStatus FileRecords::status(std::int64_t wid, std::string_view job) {
  const auto found = statuses_.find({wid, std::string(job)});
  return found == statuses_.end() ? JobStatus() : found->second;
}

void FileRecords::record(std::span<const JobEvent> events, Durability) {
  std::string lines;
  for (const JobEvent& event : events) {
    statuses_[{event.wid, event.job}] = event.status;
    Value line = Value::table({{"wid", event.wid},
                               {"job", event.job},
                               {"state", enum_name(event.status.state)},
                               {"attempt", event.status.attempt},
                               {"failures", event.status.failures},
                               {"signal", event.status.signal},
                               {"time", event.status.time},
                               {"started", event.status.started},
                               {"detail", event.status.detail}});
    if (event.status.exit_code) line.set("exit_code", *event.status.exit_code);
    lines += to_json(line) + "\n";
  }
  const int file = ::open(events_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const bool written = ::write(file, lines.data(), lines.size()) == std::ssize(lines);
  ::close(file);
  if (!written) throw std::runtime_error("cannot write " + events_.string());
}

bool FileRecords::is_cancelled(std::int64_t wid) {
  return std::filesystem::exists(directory_ / ("cancelled-" + std::to_string(wid)));
}

void FileRecords::mark_cancelled(std::int64_t wid) const {
  std::ofstream(directory_ / ("cancelled-" + std::to_string(wid)));
}

void FileRecords::refresh() {
  std::ifstream file(events_);
  for (std::string line; std::getline(file, line);) {
    const Value event = value_from_json(line, events_.string());
    JobStatus status;
    status.state = *enum_from_name<JobState>(event.find("state")->as_string());
    status.attempt = event.find("attempt")->as_integer();
    status.failures = event.find("failures")->as_integer();
    status.signal = static_cast<int>(event.find("signal")->as_integer());
    status.time = event.find("time")->as_float();
    status.started = event.find("started")->as_float();
    status.detail = event.find("detail")->as_string();
    if (const Value* code = event.find("exit_code")) {
      status.exit_code = static_cast<int>(code->as_integer());
    }
    statuses_[{event.find("wid")->as_integer(), event.find("job")->as_string()}] = status;
  }
}

std::vector<std::string> FileRecords::history() {
  std::vector<std::string> lines;
  std::ifstream file(events_);
  for (std::string line; std::getline(file, line);) {
    const Value event = value_from_json(line, events_.string());
    std::ostringstream text;
    text << event.find("wid")->as_integer() << '/' << event.find("job")->as_string() << ' '
         << event.find("state")->as_string() << ' ' << event.find("attempt")->as_integer();
    lines.push_back(text.str());
  }
  return lines;
}

JobState FileRecords::state(std::int64_t wid, const std::string& job) {
  refresh();
  return status(wid, job).state;
}

}  // namespace trivet::test
