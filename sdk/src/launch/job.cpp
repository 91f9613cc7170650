// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/job.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "trivet/config/enums.h"
#include "trivet/error.h"
#include "trivet/text/strings.h"

namespace trivet::launch {
namespace {

constexpr const char* kNul = "a text with a zero byte cannot be passed to a program";

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

// v100, a100, rtx-4090, gb200, cuda: further dimensions are replicas.
bool names_gpu(std::string_view platform) {
  const bool has_digit = std::any_of(platform.begin(), platform.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  return has_digit || platform == "cuda" || platform == "gpu" || platform == "rocm";
}

bool has_nul(const Value& value) {
  if (value.is_string()) return value.as_string().find('\0') != std::string::npos;
  if (value.is_array()) {
    return std::any_of(value.items().begin(), value.items().end(), has_nul);
  }
  if (!value.is_table()) return false;
  return std::any_of(value.members().begin(), value.members().end(), [](const auto& member) {
    return member.key.find('\0') != std::string::npos || has_nul(member.value);
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
  Value programs = Value::table();
  for (const auto& [path, known] : job.programs) programs.set(path.string(), known);
  Value after = Value::array();
  for (const Dependency& dependency : job.after) {
    after.push_back(std::string(enum_name(dependency.kind)) + ":" + dependency.job);
  }
  return Value::table({{"name", job.name},
                       {"argv", Value::array_of(job.argv)},
                       {"env", env},
                       {"env_pass", Value::array_of(job.env_pass)},
                       {"programs", programs},
                       {"working_directory", job.working_directory.string()},
                       {"directory", job.directory.string()},
                       {"platform", job.platform},
                       {"cell", job.cell},
                       {"cores", job.cores},
                       {"memory_bytes", job.memory_bytes},
                       {"gpus", job.gpus},
                       {"replicas", job.replicas},
                       {"nodes", job.nodes},
                       {"communicates", job.communicates},
                       {"processes", job.processes},
                       {"process_counts", Value::array_of(job.process_counts)},
                       {"time_limit_seconds", job.time_limit_seconds},
                       {"priority", job.priority},
                       {"retries", job.retries},
                       {"shared", job.shared},
                       {"after", after},
                       {"tells_done", job.tells_done}});
}

const Value& member(const Value& table, std::string_view name) {
  return table.at(name, "a work unit's record");
}

std::vector<std::pair<std::string, Value>> pairs_from(const Value& table) {
  std::vector<std::pair<std::string, Value>> pairs;
  for (const Value::Member& entry : table.members()) pairs.emplace_back(entry.key, entry.value);
  return pairs;
}

Job job_from(const Value& value) {
  Job job;
  job.name = member(value, "name").as_string();
  for (const Value& word : member(value, "argv").items()) job.argv.push_back(word.as_string());
  for (const Value::Member& entry : member(value, "env").members()) {
    job.env.emplace_back(entry.key, entry.value.as_string());
  }
  // Older records lack these.
  if (const Value* names = value.find("env_pass")) {
    for (const Value& name : names->items()) job.env_pass.push_back(name.as_string());
  }
  if (const Value* programs = value.find("programs")) {
    for (const Value::Member& entry : programs->members()) {
      job.programs.emplace_back(entry.key, entry.value.as_string());
    }
  }
  job.working_directory = member(value, "working_directory").as_string();
  job.directory = member(value, "directory").as_string();
  job.platform = member(value, "platform").as_string();
  job.cell = member(value, "cell").as_string();
  job.cores = member(value, "cores").as_integer();
  job.memory_bytes = member(value, "memory_bytes").as_integer();
  job.gpus = member(value, "gpus").as_integer();
  if (const Value* replicas = value.find("replicas")) job.replicas = replicas->as_integer();
  if (const Value* nodes = value.find("nodes")) job.nodes = nodes->as_integer();
  if (const Value* communicates = value.find("communicates")) {
    job.communicates = communicates->as_boolean();
  }
  job.processes = value.integer_or("processes", job.replicas);
  if (const Value* counts = value.find("process_counts")) {
    for (const Value& count : counts->items()) job.process_counts.push_back(count.as_integer());
  }
  if (job.nodes < 1 || job.replicas < job.nodes) {
    throw RunError("job '" + job.name + "' of a work unit's record has " +
                   std::to_string(job.replicas) + " replicas on " + std::to_string(job.nodes) +
                   " nodes");
  }
  job.time_limit_seconds = member(value, "time_limit_seconds").as_float();
  job.priority = member(value, "priority").as_integer();
  job.retries = member(value, "retries").as_integer();
  job.shared = member(value, "shared").as_boolean();
  for (const Value& text : member(value, "after").items()) {
    const std::optional<Dependency> dependency = parse_dependency(text.as_string());
    if (!dependency) throw RunError("'" + text.as_string() + "' is no dependency of a job");
    job.after.push_back(*dependency);
  }
  // Older records do not say it.
  const Value* tells_done = value.find("tells_done");
  job.tells_done = tells_done != nullptr && tells_done->as_boolean();
  return job;
}

void check_argument_names(const Value& table, Diagnostics& diagnostics) {
  for (const Value::Member& member : table.members()) {
    if (is_argument_name(member.key)) continue;
    diagnostics.add("args",
                    "'" + member.key + "' is no name of an argument: it becomes --NAME=VALUE",
                    R"(leave the dashes out; put a word of its own in a list: ["-v", { a = 1 }])");
  }
}

void check_args(const Value& args, Diagnostics& diagnostics) {
  const auto refuse = [&](const Value& what) {
    diagnostics.add("args",
                    "expected a table, or a list of texts and tables, found " +
                        std::string(to_string(what.type())),
                    R"(write args = { name = value } or args = ["word", { name = value }])");
  };
  if (has_nul(args)) diagnostics.add("args", kNul);
  if (args.is_table()) check_argument_names(args, diagnostics);
  if (args.is_null() || args.is_table()) return;
  if (!args.is_array()) return refuse(args);
  for (const Value& item : args.items()) {
    if (!item.is_string() && !item.is_table()) return refuse(item);
    if (item.is_table()) check_argument_names(item, diagnostics);
  }
}

void check_env(const Map<Value>& env, Diagnostics& diagnostics) {
  for (const auto& [name, value] : env) {
    const std::string path = joined_path("env", name);
    if (!is_variable_name(name)) {
      diagnostics.add(path, "'" + name + "' is no name of an environment variable",
                      "letters, digits and '_', no digit in front");
    }
    if (value.is_array() || value.is_table()) {
      diagnostics.add(path, "an environment variable is a text, a number or a boolean");
    }
    if (has_nul(value)) diagnostics.add(path, kNul);
  }
}

void check_env_pass(const std::vector<std::string>& names, Diagnostics& diagnostics) {
  for (const std::string& name : names) {
    const bool many = name.ends_with('*') && name.size() > 1;
    if (is_variable_name(many ? name.substr(0, name.size() - 1) : name)) continue;
    diagnostics.add("env_pass", "'" + name + "' names no environment variable",
                    R"(a name, or how many begin: ["WANDB_API_KEY", "HF_*"])");
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
  const std::string_view shape = text.substr(equals + 1);
  const std::optional<std::int64_t> count = topology(shape);
  if (!count) return std::nullopt;
  platform.count = *count;
  const std::size_t first = shape.find('x');
  if (names_gpu(platform.name) && first != std::string_view::npos) {
    platform.count = *topology(shape.substr(0, first));
    platform.replicas = *count / platform.count;
  }
  return platform;
}

IntegerRange replicas_of(const JobParams& params) {
  const Platform platform = parse_platform(params.platform.value_or("")).value_or(Platform());
  return params.replicas.value_or(platform.replicas);
}

bool is_argument_name(std::string_view name) {
  return !name.empty() && !name.starts_with('-') && name.find('\0') == std::string_view::npos;
}

void JobParams::validate(Diagnostics& diagnostics) const {
  check_args(args, diagnostics);
  check_env(env, diagnostics);
  check_env_pass(env_pass.value_or(std::vector<std::string>()), diagnostics);
  if (!platform.value_or("").empty() && !parse_platform(*platform)) {
    diagnostics.add(
        "platform", "'" + *platform + "' is no platform",
        "\"cpu\", \"cpu=8\", \"cuda=2\" or \"v100=4x2\" (4 GPUs for each of 2 replicas)");
  }
  if (replicas && replicas->first > replicas->last) {
    diagnostics.add("replicas", "'" + to_string(*replicas) + "' has no number in it",
                    "the smaller number comes first: \"" +
                        to_string(IntegerRange(replicas->last, replicas->first)) + "\"");
  }
  if (time_limit.value_or(Duration()).seconds < 0) {
    diagnostics.add("time_limit", "must not be negative");
  }
  for (const std::string& text : after.value_or(std::vector<std::string>())) {
    if (parse_dependency(text)) continue;
    diagnostics.add(
        "after", "'" + text + "' is no dependency",
        "the name of a job, alone or prefixed with afterok:, afterany:, afternotok: or after:");
  }
}

void JobConfig::validate(Diagnostics& diagnostics) const {
  JobParams::validate(diagnostics);
  const bool names =
      swept.is_array() && std::all_of(swept.items().begin(), swept.items().end(),
                                      [](const Value& name) { return name.is_string(); });
  if (swept.is_null() || swept.is_boolean() || names) return;
  diagnostics.add("swept", "expected true, false or a list of names", R"(swept = ["lr", "seed"])");
}

Job with_processes(Job job, std::int64_t processes) {
  constexpr std::string_view kOption = "--processes=";
  if (processes == job.processes) return job;
  if (std::ranges::find(job.process_counts, processes) == job.process_counts.end()) {
    throw Error("the job '" + job.name + "' does not have " + std::to_string(processes) +
                " processes");
  }
  const auto option = std::find_if(job.argv.rbegin(), job.argv.rend(),
                                   [&](const auto& word) { return word.starts_with(kOption); });
  if (option != job.argv.rend()) *option = std::string(kOption) + std::to_string(processes);
  if (job.replicas > 1) {
    const std::int64_t on_node = job.replicas / job.nodes;
    job.replicas = processes;
    job.nodes = (processes + on_node - 1) / on_node;
    job.communicates = processes > 1;
  } else {
    for (std::int64_t* amount : {&job.cores, &job.memory_bytes, &job.gpus}) {
      *amount = *amount / job.processes * processes;
    }
  }
  job.processes = processes;
  return job;
}

Value to_value(const WorkUnit& unit) {
  Value jobs = Value::array();
  for (const Job& job : unit.jobs) jobs.push_back(to_value(job));
  return Value::table({{"wid", unit.wid},
                       {"identity", unit.identity},
                       {"directory", unit.directory.string()},
                       {"sweep", to_value(unit.sweep.args)},
                       {"shown", to_value(unit.sweep.shown)},
                       {"target", std::string(enum_name(unit.sweep.target))},
                       {"repeat", unit.repeat},
                       {"jobs", jobs}});
}

WorkUnit work_unit_from(const Value& value) {
  WorkUnit unit;
  unit.wid = member(value, "wid").as_integer();
  unit.identity = member(value, "identity").as_string();
  unit.directory = member(value, "directory").as_string();
  unit.sweep.args = pairs_from(member(value, "sweep"));
  unit.sweep.shown = pairs_from(member(value, "shown"));
  if (const Value* target = value.find("target")) {
    const auto known = enum_from_name<SweepTarget>(target->as_string());
    if (!known) throw RunError("'" + target->as_string() + "' is no target of a sweep");
    unit.sweep.target = *known;
  }
  if (const Value* repeat = value.find("repeat")) unit.repeat = repeat->as_integer();
  for (const Value& job : member(value, "jobs").items()) unit.jobs.push_back(job_from(job));
  return unit;
}

std::vector<std::string_view> pass_through_environment() {
  return {"PATH",   "HOME",   "USER", "LOGNAME", "SHELL",          "LANG",
          "LC_ALL", "TMPDIR", "TZ",   "TERM",    "XDG_CACHE_HOME", "TRIVET_PLUGIN_PATH"};
}

bool passes_through(const Job& job, std::string_view name) {
  const auto is_meant = [&](std::string_view pattern) {
    return pattern == name ||
           (pattern.ends_with('*') && name.starts_with(pattern.substr(0, pattern.size() - 1)));
  };
  const std::vector<std::string_view> always = pass_through_environment();
  return std::find(always.begin(), always.end(), name) != always.end() ||
         std::any_of(job.env_pass.begin(), job.env_pass.end(), is_meant);
}

}  // namespace trivet::launch
