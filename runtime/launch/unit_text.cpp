// SPDX-License-Identifier: Apache-2.0
#include "launch/unit_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "launch/experiment_view.h"
#include "trivet/launch/subdir_format.h"

namespace trivet {
namespace {

Value job_value(const launch::Job& job) {
  Value argv = Value::array(), env = Value::table();
  for (const std::string& word : job.argv) argv.push_back(word);
  for (const auto& [name, value] : job.env) env.set(name, value);
  return Value::table({{"argv", argv}, {"env", env}});
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("@%+=:,./_-").find(c) != std::string_view::npos;
}

bool is_control_char(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

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
  return Value::table(
      {{"xid", launch.xid}, {"xp_dir", launch.directory.string()}, {"units", units}});
}

std::string dry_run_text(const PlannedLaunch& launch) {
  std::string text = fmt::format("experiment {}  {}\n", launch.xid, launch.directory.string());
  for (const launch::WorkUnit& unit : launch.units) {
    const std::string sweep = sweep_kwargs(unit.sweep);
    text += fmt::format("unit {}  {}{}\n", unit.wid, unit.directory.string(),
                        sweep.empty() ? "" : "  " + sweep);
    for (const launch::Job& job : unit.jobs) {
      text += fmt::format("  {}  ", job.name);
      for (const auto& [name, value] : job.env) text += name + "=" + shell_word(value) + " ";
      text += command_line(job) + "\n";
    }
  }
  if (const std::size_t there = launch.there.size(); there > 0) {
    text += fmt::format("{} {} there already\n", units_text(there), there == 1 ? "is" : "are");
  }
  return text + "nothing was started\n";
}

std::string launched_text(const PlannedLaunch& launch) {
  std::string text = fmt::format("experiment {}  {}  {}\n", launch.xid,
                                 units_text(launch.units.size()), launch.directory.string());
  if (const std::size_t there = launch.there.size(); there > 0) {
    text += fmt::format("{} there already, left alone\n",
                        units_text(there) + (there == 1 ? " was" : " were"));
  }
  const std::string root = launch.root == std::filesystem::absolute("runs").lexically_normal()
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
