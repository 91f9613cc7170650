// SPDX-License-Identifier: Apache-2.0
#include "launch/unit_text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "launch/store/experiment_id.h"
#include "launch/store/experiment_view.h"
#include "trivet/config/enums.h"
#include "trivet/launch/subdir_format.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

std::vector<std::string> dependency_texts(const launch::Job& job) {
  std::vector<std::string> texts;
  for (const launch::Dependency& dependency : job.after) {
    texts.push_back(std::string(enum_name(dependency.kind)) + ":" + dependency.job);
  }
  return texts;
}

Value job_value(const launch::Job& job) {
  Value env = Value::table();
  for (const auto& [name, value] : job.env) env.set(name, value);
  return Value::table({{"argv", Value::array_of(job.argv)},
                       {"env", env},
                       {"env_pass", Value::array_of(job.env_pass)},
                       {"platform", job.platform},
                       {"cores", job.cores},
                       {"gpus", job.gpus},
                       {"replicas", job.replicas},
                       {"nodes", job.nodes},
                       {"processes", job.processes},
                       {"process_counts", Value::array_of(job.process_counts)},
                       {"memory_bytes", job.memory_bytes},
                       {"time_limit_seconds", job.time_limit_seconds},
                       {"priority", job.priority},
                       {"cell", job.cell},
                       {"retries", job.retries},
                       {"after", Value::array_of(dependency_texts(job))}});
}

// The smaller numbers of processes that the job may have: "1, 2".
std::string fewer_text(const launch::Job& job) {
  std::vector<std::int64_t> fewer = job.process_counts;
  std::erase(fewer, job.processes);
  return fmt::format("{}", fmt::join(fewer, ", "));
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("@%+=:,./_-").find(c) != std::string_view::npos;
}

// Not an error: grids and lists may contain the same point.
std::string duplicates_text(const PlannedLaunch& launch) {
  if (launch.duplicates == 0) return {};
  return fmt::format(
      "{} of the sweep {} equal to another and {} skipped; xp.repeats = N runs "
      "each item N times\n",
      launch.duplicates == 1 ? "1 item" : fmt::format("{} items", launch.duplicates),
      launch.duplicates == 1 ? "is" : "are", launch.duplicates == 1 ? "was" : "were");
}

bool is_control_char(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

std::string needs_text(const launch::Job& job) {
  std::string text = count_of(job.cores, "core");
  const auto add = [&](bool is_said, const std::string& part) {
    if (is_said) text += ", " + part;
  };
  const launch::Job plain;
  add(job.gpus > 0 || job.platform != plain.platform,
      count_of(job.gpus, "GPU") + " (" + job.platform + ")");
  add(job.replicas > 1, "for each of " + std::to_string(job.replicas) + " replicas on " +
                            count_of(job.nodes, "node"));
  add(!job.process_counts.empty(),
      fmt::format("for {} processes or fewer ({})", job.processes, fewer_text(job)));
  add(job.memory_bytes > 0, fmt::format("memory {} bytes", job.memory_bytes));
  add(job.time_limit_seconds > 0, fmt::format("at most {:g} s", job.time_limit_seconds));
  add(job.retries > 0, count_of(job.retries, "retry", "retries"));
  add(job.priority != plain.priority, fmt::format("priority {}", job.priority));
  add(!job.cell.empty(), "cell " + job.cell);
  for (const std::string& name : job.env_pass) text += ", $" + name;
  for (const std::string& dependency : dependency_texts(job)) text += ", " + dependency;
  return text;
}

Value launch_value(const PlannedLaunch& launch) {
  Value units = Value::array();
  for (const launch::WorkUnit& unit : launch.units) {
    Value sweep = Value::table(), jobs = Value::table();
    for (const auto& [name, value] : unit.sweep.args) sweep.set(name, value);
    for (const launch::Job& job : unit.jobs) jobs.set(job.name, job_value(job));
    units.push_back(Value::table({{"wid", unit.wid},
                                  {"wu_dir", unit.directory.string()},
                                  {"sweep", sweep},
                                  {"jobs", jobs}}));
  }
  return Value::table({{"xid", launch.xid},
                       {"name", launch.name},
                       {"tags", Value::array_of(launch.tags)},
                       {"xp_dir", launch.directory.string()},
                       {"orchestrator", launch.orchestrator},
                       {"files", launch.copies},
                       {"duplicates", launch.duplicates},
                       {"units", units}});
}

std::string dry_run_text(const PlannedLaunch& launch) {
  std::string text = fmt::format("experiment {}  {}\n", launch.xid, launch.directory.string());
  text += fmt::format("name {}, {}", launch.name, launch.orchestrator);
  for (const std::string& tag : launch.tags) text += ", tag " + tag;
  text += "\n";
  for (const auto& copy : launch.copies.members()) {
    text += fmt::format("  {} is a copy of {}\n", copy.value.as_string(), copy.key);
  }
  for (const std::string& line : launch.intent) text += line + "\n";
  for (const launch::WorkUnit& unit : launch.units) {
    const std::string sweep = launch::sweep_kwargs(unit.sweep);
    text += fmt::format("unit {}  {}{}\n", unit.wid, unit.directory.string(),
                        sweep.empty() ? "" : "  " + sweep);
    for (const launch::Job& job : unit.jobs) {
      text += fmt::format("  {}  ", job.name);
      for (const auto& [name, value] : job.env) text += name + "=" + shell_word(value) + " ";
      text += command_line(job) + "\n    " + needs_text(job) + "\n";
    }
  }
  text += duplicates_text(launch);
  if (const std::size_t there = launch.there.size(); there > 0) {
    text += fmt::format("{} already {}\n", units_text(there), there == 1 ? "exists" : "exist");
  }
  return text + "nothing was started\n";
}

std::string launched_text(const PlannedLaunch& launch) {
  // A search adds its units later.
  const std::string units = launch.units.empty() && launch.there.empty()
                                ? "work units follow"
                                : units_text(launch.units.size());
  std::string text =
      fmt::format("experiment {}  {}  {}\n", launch.xid, units, launch.directory.string());
  if (const std::size_t there = launch.there.size(); there > 0) {
    text += fmt::format("{} already existed\n", units_text(there));
  }
  text += duplicates_text(launch);
  const std::string root =
      launch.root == std::filesystem::absolute(experiments_root(nullptr)).lexically_normal()
          ? ""
          : " --root " + shell_word(launch.root.string());
  return text + fmt::format("  trivet status {0}{1}    trivet logs -f {0}{1}\n", launch.xid, root);
}

std::string shell_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  const bool control = std::any_of(word.begin(), word.end(), is_control_char);
  std::string text = control ? "$'" : "'";
  for (const char c : word) {
    if (!control) {
      text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    } else if (c == '\n') {
      text += "\\n";
    } else if (is_control_char(c)) {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      text += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
  }
  return text + "'";
}

std::string command_line(const launch::Job& job) {
  std::string text;
  for (const std::string& word : job.argv) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace trivet
