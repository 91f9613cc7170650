// SPDX-License-Identifier: Apache-2.0
#include "launch/unit_builder.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "launch/experiment_store.h"
#include "launch/supervisor.h"
#include "trivet/digest.h"
#include "trivet/error.h"
#include "trivet/json.h"
#include "trivet/text_file.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::Job;
using launch::JobConfig;
using launch::WorkUnit;

constexpr std::uint64_t kMostDigested = std::uint64_t{1} << 30;

std::string expanded(const SubdirFormat& format, const std::string& text,
                     const DirProperties& properties, const std::string& path) {
  try {
    return format.expand(text, properties);
  } catch (const Error& error) {
    throw ConfigError(Problem{.path = path, .what = error.what()});
  }
}

// Found before anything is made: the system's limits, with room for the files of an attempt.
void check_length(const fs::path& directory, const std::string& path) {
  constexpr std::size_t kRoom = std::string_view("/jobs//1000000/started.json.tmp").size();
  const bool is_long = std::any_of(directory.begin(), directory.end(), [](const fs::path& part) {
    return part.native().size() > NAME_MAX;
  });
  if (!is_long && directory.native().size() + kRoom + launch::kMostJobName < PATH_MAX) return;
  throw ConfigError(
      Problem{.path = path,
              .what = fmt::format("the path '{}...' is too long: {} bytes",
                                  directory.string().substr(0, 100), directory.native().size()),
              .hint = fmt::format("a name may have {} bytes, a path with what is in it {}",
                                  NAME_MAX, PATH_MAX - 1)});
}

// "a/b" may make nested directories; nothing may lead out of the directory above.
fs::path below(const fs::path& parent, const std::string& name, const std::string& path) {
  const fs::path relative = fs::path(name).lexically_normal();
  if (!stays_below(relative)) {
    throw ConfigError(Problem{.path = path,
                              .what = "'" + name + "' is no directory below " + parent.string(),
                              .hint = "a relative name without '..', not empty"});
  }
  const fs::path directory = parent / (relative.has_filename() ? relative : relative.parent_path());
  check_length(directory, path);
  return directory;
}

// Nor may a symbolic link on the way.
void refuse_way_out(const fs::path& root, const fs::path& directory, const std::string& path) {
  const fs::path real = fs::weakly_canonical(directory);
  if (stays_below(real.lexically_relative(fs::weakly_canonical(root)))) return;
  throw ConfigError(Problem{.path = path,
                            .what = directory.string() + " leads to " + real.string() +
                                    " by a symbolic link, out of " + root.string()});
}

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// What fills the braces in a job's strings beside the placeholders of directories.
struct Proxies {
  const DirProperties& properties;
  const ExperimentPlace& place;
  const JobPlan& plan;
  fs::path wu_dir;
};

class JobText final : public SubdirFormat {
 public:
  JobText(const SubdirFormat& dirs, const Proxies& proxies) : dirs_(dirs), proxies_(proxies) {}

  std::vector<std::string> own_placeholders() const override {
    std::vector<std::string> names = dirs_.own_placeholders();
    names.insert(names.end(), {"wu_dir", "xp_dir", "cfg"});
    return names;
  }

  Value own_placeholder(std::string_view name, const DirProperties& properties) const override {
    if (name == "wu_dir") return proxies_.wu_dir.string();
    if (name == "xp_dir") return proxies_.place.directory.string();
    if (name != "cfg") return dirs_.own_placeholder(name, properties);
    if (!proxies_.place.config_file.empty()) return proxies_.place.config_file.string();
    throw Error("{cfg} has no value: there is no run's config", {.hint = "name one: --cfg=FILE"});
  }

  Value with_format(std::string_view name, std::string_view format) const override {
    if (name != "file") return {};
    const Map<Path>& files = proxies_.plan.config.files;
    for (const auto& [known, file] : files) {
      if (known != format) continue;
      return (proxies_.place.working_directory / file.path()).lexically_normal().string();
    }
    std::vector<std::string> known;
    for (const auto& entry : files) known.push_back(entry.first);
    throw Error(fmt::format("there is no file '{}' in the job's `files`", format),
                {.hint = suggestion(format, known)});
  }

 private:
  const SubdirFormat& dirs_;
  const Proxies& proxies_;
};

// Every text in a value, in tables and lists as well.
Value expanded_value(const SubdirFormat& format, const Value& value,
                     const DirProperties& properties, const std::string& path) {
  if (value.is_text()) return expanded(format, value.as_text(), properties, path);
  if (value.is_array()) {
    Value array = Value::array();
    for (const Value& item : value.items()) {
      array.push_back(expanded_value(format, item, properties, path));
    }
    return array;
  }
  if (!value.is_table()) return value;
  Value table = Value::table();
  for (const Value::Member& member : value.members()) {
    table.set(member.key, expanded_value(format, member.value, properties, path));
  }
  return table;
}

std::string environment_text(const Value& value) {
  if (value.is_text()) return value.as_text();
  return value.is_null() ? std::string() : to_json(value);
}

// A script's program in front: "python3 /x/y.py".
std::vector<std::string> program_of(const JobPlan& plan, const ExperimentPlace& place) {
  const std::string path = joined_path("xp.jobs", plan.name) + ".target";
  const JobConfig& config = plan.config;
  if (config.target == "trivet" && config.interpreter.empty()) {
    return {own_program().string()};
  }
  std::string interpreter = config.interpreter;
  if (interpreter.empty() && fs::path(config.target).extension() == ".py") interpreter = "python3";
  if (interpreter.empty()) {
    const auto program = find_program(config.target, place.working_directory);
    if (program) return {program->string()};
    throw ConfigError(Problem{.path = path,
                              .what = "there is no program '" + config.target + "'",
                              .hint = config.target.find('/') == std::string::npos
                                          ? "nothing on PATH has this name; write ./" +
                                                config.target + " for one in this directory"
                                          : "it must be a file that may be executed"});
  }
  const auto program = find_program(interpreter, place.working_directory);
  if (!program) {
    throw ConfigError(
        Problem{.path = path, .what = "there is no interpreter '" + interpreter + "'"});
  }
  const fs::path script = (place.working_directory / config.target).lexically_normal();
  std::error_code ignored;
  if (!fs::is_regular_file(script, ignored)) {
    throw ConfigError(Problem{.path = path, .what = "there is no script '" + config.target + "'"});
  }
  return {program->string(), script.string()};
}

}  // namespace

std::optional<fs::path> find_program(const std::string& target, const fs::path& working_directory) {
  if (target.find('/') != std::string::npos) {
    const fs::path path = (working_directory / target).lexically_normal();
    return is_executable(path) ? std::optional(path) : std::nullopt;
  }
  const char* variable = std::getenv("PATH");
  std::string rest = variable != nullptr ? variable : "/usr/bin:/bin";
  while (!rest.empty() && !target.empty()) {
    const std::size_t colon = rest.find(':');
    const fs::path folder = rest.substr(0, colon);
    if (!folder.empty() && is_executable(folder / target)) {
      return (working_directory / folder / target).lexically_normal();
    }
    rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
  }
  return std::nullopt;
}

fs::path root_directory(const launch::Experiment& experiment, const std::string& name,
                        const std::string& author) {
  if (experiment.root_dir.empty()) {
    throw ConfigError(Problem{.path = "xp.root_dir",
                              .what = "xp.root_dir is not set",
                              .hint = "the directory of all experiments: --xp.root_dir=runs"});
  }
  DirProperties properties;
  properties.name = name;
  properties.author = author;
  const std::string text = expanded(SubdirFormat(), experiment.root_dir, properties, "xp.root_dir");
  const fs::path path = fs::absolute(text).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

fs::path experiment_directory(const SubdirFormat& format, const fs::path& root,
                              const ExperimentPlace& place, const std::string& cell) {
  DirProperties properties;
  properties.xid = place.xid;
  properties.name = place.name;
  properties.author = place.author;
  properties.cell = cell;
  constexpr const char* kPath = "xp.subdir_format.xp_dirname";
  const fs::path directory =
      below(root, expanded(format, format.config().xp_dirname, properties, kPath), kPath);
  refuse_way_out(root, directory, kPath);
  return directory;
}

UnitBuilder::UnitBuilder(const ResolvedLaunch& launch, const std::vector<JobPlan>& plans,
                         const SubdirFormat& format, const ExperimentPlace& place)
    : launch_(launch), plans_(plans), format_(format), place_(place) {
  cell_ = plans.front().config.cell;
  Problems problems;
  for (const JobPlan& plan : plans) {
    try {
      programs_[plan.name] = program_of(plan, place);
    } catch (const ConfigError& error) {
      for (const Problem& problem : error.problems()) problems.add(problem);
    }
  }
  problems.throw_if_any();
}

std::vector<Argument> UnitBuilder::arguments(const JobPlan& plan, const SweepItem& item,
                                             bool sweeps_config) const {
  std::vector<Argument> arguments = plan.arguments;
  for (const auto& swept : item.args) {
    const std::string& name = swept.first;
    const Value& value = swept.second;
    if (sweeps_config) {
      set_argument(arguments, "cfg." + name, value_text(value, ValueText::toml));
      continue;
    }
    const auto found = std::find_if(arguments.begin(), arguments.end(),
                                    [&](const Argument& given) { return given.name == name; });
    if (found != arguments.end() && found->value.origin().file == kCommandLine) {
      throw ConfigError(Problem{.where = found->value.origin(),
                                .path = joined_path("xp.jobs", plan.name) + ".args",
                                .what = "'" + name + "' is both swept and set",
                                .hint = "leave one of them out"});
    }
    set_argument(arguments, name, value);
  }
  return arguments;
}

std::string UnitBuilder::identity(const SweepItem& item, bool sweeps_config) const {
  std::string text;
  for (const JobPlan& plan : plans_) {
    text += "job " + plan.name + "\n";
    for (const std::string& word : programs_.at(plan.name)) text += to_json(word) + "\n";
    for (const Argument& argument : arguments(plan, item, sweeps_config)) {
      text += to_json(argument_text(argument)) + "\n";
    }
    for (const auto& [name, value] : plan.config.env) {
      text += name + "=" + to_json(environment_text(value)) + "\n";
    }
    for (const auto& [name, file] : plan.config.files) {
      const fs::path path = place_.working_directory / file.path();
      std::error_code ignored;
      const bool readable = fs::is_regular_file(path, ignored);
      text += "file " + name + " " +
              (readable ? digest(text_of_file(path, kMostDigested)) : file.text) + "\n";
    }
  }
  if (launch_.run) {
    Value tree = launch_.run->tree;
    tree.erase("xp");
    text += to_json(tree) + "\n";
  }
  return digest(text);
}

WorkUnit UnitBuilder::build(const SweepItem& item, bool sweeps_config, std::int64_t wid,
                            std::int64_t units) const {
  DirProperties properties;
  properties.xid = place_.xid;
  properties.name = place_.name;
  properties.author = place_.author;
  properties.cell = cell_;
  properties.wid = wid;
  properties.units = units;
  properties.sweep = item;
  constexpr const char* kPath = "xp.subdir_format.wu_dirname";
  WorkUnit unit;
  unit.wid = wid;
  unit.identity = identity(item, sweeps_config);
  unit.directory = below(place_.directory,
                         expanded(format_, format_.config().wu_dirname, properties, kPath), kPath);
  unit.sweep = item;
  for (const JobPlan& plan : plans_) {
    unit.jobs.push_back(job(plan, item, sweeps_config, properties, unit.directory));
  }
  return unit;
}

Job UnitBuilder::job(const JobPlan& plan, const SweepItem& item, bool sweeps_config,
                     const DirProperties& properties, const fs::path& directory) const {
  const JobConfig& config = plan.config;
  const Proxies proxies{properties, place_, plan, directory};
  const JobText text(format_, proxies);
  const std::string path = joined_path("xp.jobs", plan.name);
  Job job;
  job.name = plan.name;
  job.argv = programs_.at(plan.name);
  for (Argument& argument : arguments(plan, item, sweeps_config)) {
    // What a sweep gives is a value and holds no placeholders.
    const bool swept = std::any_of(item.args.begin(), item.args.end(), [&](const auto& given) {
      return argument.name == (sweeps_config ? "cfg." + given.first : given.first);
    });
    if (!swept) argument.value = expanded_value(text, argument.value, properties, path + ".args");
    job.argv.push_back(argument_text(argument));
  }
  for (const auto& [name, value] : config.env) {
    job.env.emplace_back(name,
                         environment_text(expanded_value(text, value, properties, path + ".env")));
  }
  job.working_directory = place_.working_directory;
  job.directory = directory / "jobs" / plan.name;
  const launch::Platform platform =
      launch::parse_platform(config.platform).value_or(launch::Platform());
  const bool on_cpu = platform.name == "cpu";
  job.platform = platform.name;
  job.cell = config.cell;
  job.cores = config.cores > 0 ? config.cores : on_cpu && platform.count > 0 ? platform.count : 1;
  job.gpus = config.gpus > 0 ? config.gpus : on_cpu ? 0 : platform.count;
  job.memory_bytes = launch::parse_bytes(config.memory).value_or(0);
  job.time_limit_seconds = config.time_limit.seconds;
  job.priority = config.priority > 0 ? config.priority : 200;
  job.retries = config.retries;
  job.shared = launch_.experiment.shared;
  job.after = plan.after;
  return job;
}

}  // namespace trivet
