// SPDX-License-Identifier: Apache-2.0
#include "launch/store/experiment_view.h"

#include <algorithm>
#include <system_error>

#include <fmt/core.h>

#include "base/terminal_text.h"
#include "launch/store/disk_records.h"
#include "launch/store/experiment_store.h"
#include "launch/store/launch_record.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"
#include "trivet/text/strings.h"

namespace trivet {

using launch::JobState;
using launch::JobStatus;

namespace {

// Whether nothing is running and some work can be continued.
bool waits_for_resume(const ExperimentView& view, bool has_supervisors) {
  if (view.supervised) return false;
  return std::any_of(view.counts.begin(), view.counts.end(), [&](const auto& entry) {
    const bool is_open = has_supervisors && !launch::is_final(entry.first);
    return entry.second > 0 &&
           (is_open || entry.first == JobState::lost || entry.first == JobState::preempted);
  });
}

}  // namespace

std::string ExperimentView::fact(std::string_view name) const {
  return facts.string_or(name);
}

double ExperimentView::launched() const {
  return facts.float_or("launched", 0);
}

std::int64_t ExperimentView::unit_count() const {
  std::int64_t sum = 0;
  for (const auto& [state, count] : counts) sum += count;
  return sum;
}

Value view_value(const UnitView& view) {
  Value jobs = Value::table();
  for (const JobView& job : view.jobs) {
    Value row = to_value(launch::JobEvent{view.wid, job.name, job.status});
    row.erase("wid");
    row.erase("job");
    row.set("directory", job.directory.string());
    jobs.set(job.name, row);
  }
  return Value::table({{"wid", view.wid},
                       {"state", enum_name(view.state)},
                       {"wu_dir", view.directory.string()},
                       {"sweep", view.sweep},
                       {"jobs", jobs}});
}

Value view_value(const ExperimentView& view) {
  Value counts = Value::table(), units = Value::array(), diagnostics = Value::array();
  for (const auto& [state, count] : view.counts) counts.set(enum_name(state), count);
  for (const UnitView& unit : view.units) units.push_back(view_value(unit));
  for (const std::string& problem : view.diagnostics) diagnostics.push_back(problem);
  Value all = view.facts;
  all.set("xid", view.xid);
  all.set("xp_dir", view.directory.string());
  all.set("problems", diagnostics);
  all.set("supervised", view.supervised);
  all.set("states", counts);
  all.set("units", units);
  return all;
}

std::string counts_text(const std::map<JobState, std::int64_t>& counts) {
  std::string text;
  for (const auto& [state, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, enum_name(state));
  }
  return text.empty() ? "no work units" : text;
}

std::string units_text(std::size_t count) {
  return count_of(static_cast<std::int64_t>(count), "work unit");
}

const UnitView& unit_of(const ExperimentView& view, std::int64_t wid) {
  for (const UnitView& unit : view.units) {
    if (unit.wid == wid) return unit;
  }
  throw UsageError(fmt::format("experiment {} has no work unit {}", view.xid, wid),
                   {.hint = fmt::format("the experiment has {}", view.unit_count())});
}

std::string problems_text(const ExperimentView& view) {
  std::string text;
  for (const std::string& problem : view.diagnostics) {
    text += fmt::format("experiment {} is damaged: {}\n", view.xid, printable(problem));
  }
  return text;
}

std::string unfinished_text(const std::filesystem::path& root) {
  std::string text;
  for (const auto& [xid, directory] : ExperimentStore(root).unfinished()) {
    text += fmt::format(
        "experiment {} is unfinished: {}, the last file of a launch, is missing; "
        "launch it again with --xid={}\n",
        xid, printable((directory / "experiment.json").string()), xid);
  }
  return text;
}

std::string head_text(const ExperimentView& view) {
  std::string text = fmt::format("experiment {}  {}  {}\n", view.xid, printable(view.fact("name")),
                                 printable(view.directory.string()));
  if (const std::string note = view.fact("note"); !note.empty()) {
    text += "  " + printable(note) + "\n";
  }
  if (const std::vector<std::string> tags = texts_in(view.facts, "tags"); !tags.empty()) {
    text += "  tags";
    for (const std::string& tag : tags) {
      text += (&tag == &tags.front() ? "  " : ", ") + printable(tag);
    }
    text += "\n";
  }
  text += "  " + counts_text(view.counts);
  // An orchestrator without a supervisor leaves no lock.
  std::error_code ignored;
  const bool had_one = std::filesystem::exists(view.directory / "supervisor.lock", ignored);
  if (!view.supervised && had_one) text += "; no supervisor is running";
  if (waits_for_resume(view, had_one)) {
    text += fmt::format("; 'trivet resume {}' continues what has not ended", view.xid);
  }
  return text + "\n" + problems_text(view);
}

// The reason of a job's state: "exit code 1, attempt 2".
std::string detail_text(const JobStatus& status) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (status.exit_code && *status.exit_code != 0) {
    add(fmt::format("exit code {}", *status.exit_code));
  }
  if (status.signal != 0) add(fmt::format("signal {}", status.signal));
  if (status.attempt > 1) add(fmt::format("attempt {}", status.attempt));
  if (!status.detail.empty()) add(printable(status.detail));
  return text;
}

}  // namespace trivet
