// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/job.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "../value_list.h"
#include "trivet/enums.h"
#include "trivet/error.h"

namespace trivet::launch {
namespace {

constexpr std::int64_t kKibi = 1024;

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array kUnits{
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"kB", 1000},
    Unit{"KB", 1000},
    Unit{"MB", 1000'000},
    Unit{"GB", 1000'000'000},
    Unit{"TB", 1000'000'000'000},
    Unit{"K", kKibi},
    Unit{"M", kKibi* kKibi},
    Unit{"G", kKibi* kKibi* kKibi},
    Unit{"T", kKibi* kKibi* kKibi* kKibi},
    Unit{"KiB", kKibi},
    Unit{"MiB", kKibi* kKibi},
    Unit{"GiB", kKibi* kKibi* kKibi},
    Unit{"TiB", kKibi* kKibi* kKibi* kKibi},
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// "4x2" is 8; nothing for zeros, other text, and more than a cluster has.
std::optional<std::int64_t> topology(std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t product = 1;
  while (true) {
    std::int64_t factor = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
    if (error != std::errc() || factor < 1 || factor > kMost) return std::nullopt;
    product *= factor;
    if (product > kMost) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return product;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
}

// As a shell knows it: letters, digits and '_', no digit in front.
bool is_variable_name(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

Value to_value(const std::vector<std::pair<std::string, Value>>& members) {
  Value table = Value::table();
  for (const auto& [name, value] : members) table.set(name, value);
  return table;
}

Value to_value(const Job& job) {
  Value env = Value::table();
  for (const auto& [name, value] : job.env) env.set(name, value);
  Value after = Value::array();
  for (const Dependency& dependency : job.after) {
    after.push_back(std::string(enum_name(dependency.kind)) + ":" + dependency.job);
  }
  return Value::table({{"name", job.name},
                       {"argv", detail::list_of(job.argv)},
                       {"env", env},
                       {"working_directory", job.working_directory.string()},
                       {"directory", job.directory.string()},
                       {"platform", job.platform},
                       {"cell", job.cell},
                       {"cores", job.cores},
                       {"memory_bytes", job.memory_bytes},
                       {"gpus", job.gpus},
                       {"time_limit_seconds", job.time_limit_seconds},
                       {"priority", job.priority},
                       {"retries", job.retries},
                       {"shared", job.shared},
                       {"after", after}});
}

const Value& member(const Value& table, std::string_view name) {
  const Value* found = table.find(name);
  if (found == nullptr) {
    throw RunError("a work unit's record lacks '" + std::string(name) + "'");
  }
  return *found;
}

std::vector<std::pair<std::string, Value>> pairs_from(const Value& table) {
  std::vector<std::pair<std::string, Value>> pairs;
  for (const Value::Member& entry : table.members()) pairs.emplace_back(entry.key, entry.value);
  return pairs;
}

Job job_from(const Value& value) {
  Job job;
  job.name = member(value, "name").as_text();
  for (const Value& word : member(value, "argv").items()) job.argv.push_back(word.as_text());
  for (const Value::Member& entry : member(value, "env").members()) {
    job.env.emplace_back(entry.key, entry.value.as_text());
  }
  job.working_directory = member(value, "working_directory").as_text();
  job.directory = member(value, "directory").as_text();
  job.platform = member(value, "platform").as_text();
  job.cell = member(value, "cell").as_text();
  job.cores = member(value, "cores").as_integer();
  job.memory_bytes = member(value, "memory_bytes").as_integer();
  job.gpus = member(value, "gpus").as_integer();
  job.time_limit_seconds = member(value, "time_limit_seconds").as_number();
  job.priority = member(value, "priority").as_integer();
  job.retries = member(value, "retries").as_integer();
  job.shared = member(value, "shared").as_boolean();
  for (const Value& text : member(value, "after").items()) {
    const std::optional<Dependency> dependency = parse_dependency(text.as_text());
    if (!dependency) throw RunError("'" + text.as_text() + "' is no dependency of a job");
    job.after.push_back(*dependency);
  }
  return job;
}

void check_args(const Value& args, Problems& problems) {
  const auto refuse = [&](const Value& what) {
    problems.add("args",
                 "expected a table, or a list of texts and tables, found " +
                     std::string(to_string(what.type())),
                 R"(write args = { name = value } or args = ["word", { name = value }])");
  };
  if (args.is_null() || args.is_table()) return;
  if (!args.is_array()) return refuse(args);
  for (const Value& item : args.items()) {
    if (!item.is_text() && !item.is_table()) return refuse(item);
  }
}

}  // namespace

std::optional<Dependency> parse_dependency(std::string_view text) {
  Dependency dependency;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view word = text.substr(0, colon);
    const std::optional<AfterKind> kind = enum_from_name<AfterKind>(word);
    if (!kind) return std::nullopt;
    dependency.kind = *kind;
    text.remove_prefix(colon + 1);
  }
  if (text.empty()) return std::nullopt;
  dependency.job = text;
  return dependency;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  text = trimmed(text);
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::string_view name = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const Unit& unit : kUnits) {
    if (name != unit.name) continue;
    const double bytes = std::round(number * static_cast<double>(unit.bytes));
    if (!(bytes < static_cast<double>(std::numeric_limits<std::int64_t>::max()))) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(bytes);
  }
  return std::nullopt;
}

std::optional<Platform> parse_platform(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_word_character)) {
    return std::nullopt;
  }
  Platform platform{.name = std::string(name)};
  for (char& c : platform.name) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (equals == std::string_view::npos) {
    platform.count = platform.name == "cpu" ? 0 : 1;
    return platform;
  }
  const std::optional<std::int64_t> count = topology(text.substr(equals + 1));
  if (!count) return std::nullopt;
  platform.count = *count;
  return platform;
}

void JobParams::validate(Problems& problems) const {
  check_args(args, problems);
  for (const auto& [name, value] : env) {
    const std::string path = joined_path("env", name);
    if (!is_variable_name(name)) {
      problems.add(path, "'" + name + "' is no name of an environment variable",
                   "letters, digits and '_', no digit in front");
    }
    if (value.is_array() || value.is_table()) {
      problems.add(path, "an environment variable is a text, a number or a boolean");
    }
  }
  if (!memory.empty() && !parse_bytes(memory)) {
    problems.add("memory", "'" + memory + "' is no amount of memory",
                 "a number with B, kB, MB, GB, KiB, MiB or GiB: \"16GiB\"");
  }
  if (!platform.empty() && !parse_platform(platform)) {
    problems.add("platform", "'" + platform + "' is no platform",
                 "\"cpu\", \"cpu=8\", \"cuda=2\" or \"v100=4x2\"");
  }
  if (time_limit.seconds < 0) problems.add("time_limit", "must not be negative");
  for (const std::string& text : after) {
    if (parse_dependency(text)) continue;
    problems.add("after", "'" + text + "' is no dependency",
                 "the name of a job, alone or behind afterok:, afterany:, afternotok: or after:");
  }
}

Value to_value(const WorkUnit& unit) {
  Value jobs = Value::array();
  for (const Job& job : unit.jobs) jobs.push_back(to_value(job));
  return Value::table({{"wid", unit.wid},
                       {"identity", unit.identity},
                       {"directory", unit.directory.string()},
                       {"sweep", to_value(unit.sweep.args)},
                       {"shown", to_value(unit.sweep.shown)},
                       {"jobs", jobs}});
}

WorkUnit work_unit_from(const Value& value) {
  WorkUnit unit;
  unit.wid = member(value, "wid").as_integer();
  unit.identity = member(value, "identity").as_text();
  unit.directory = member(value, "directory").as_text();
  unit.sweep = {pairs_from(member(value, "sweep")), pairs_from(member(value, "shown"))};
  for (const Value& job : member(value, "jobs").items()) unit.jobs.push_back(job_from(job));
  return unit;
}

std::vector<std::string_view> pass_through_environment() {
  return {"PATH",   "HOME",   "USER", "LOGNAME", "SHELL",          "LANG",
          "LC_ALL", "TMPDIR", "TZ",   "TERM",    "XDG_CACHE_HOME", "TRIVET_PLUGIN_PATH"};
}

}  // namespace trivet::launch
