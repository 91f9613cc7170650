// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/unit_builder.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "launch/plan/job_processes.h"
#include "launch/plan/unit_config.h"
#include "launch/store/experiment_id.h"
#include "launch/store/experiment_store.h"
#include "trivet/config/digest.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::Job;
using launch::JobConfig;
using launch::WorkUnit;

std::string expand(const launch::SubdirFormat& format, const std::string& text,
                   const launch::DirProperties& properties, const std::string& path) {
  try {
    return format.expand(text, properties);
  } catch (const Error& error) {
    throw ConfigError(Diagnostic{.path = path, .what = error.what()});
  }
}

// Checks the system's limits before anything is created, with room for the files of an attempt.
void check_length(const fs::path& directory, const std::string& path) {
  constexpr std::size_t kRoom = std::string_view("/jobs//1000000/started.json.tmp").size();
  const bool is_long = std::any_of(directory.begin(), directory.end(), [](const fs::path& part) {
    return part.native().size() > NAME_MAX;
  });
  if (!is_long && directory.native().size() + kRoom + launch::kMostJobName < PATH_MAX) return;
  throw ConfigError(Diagnostic{
      .path = path,
      .what = fmt::format("the path '{}...' is too long: {} bytes",
                          directory.string().substr(0, 100), directory.native().size()),
      .hint = fmt::format("the limit is {} bytes for a name, {} for a path with its files",
                          NAME_MAX, PATH_MAX - 1)});
}

// "a/b" gives nested directories. A name must not leave the parent directory.
fs::path join_below(const fs::path& parent, const std::string& name, const std::string& path) {
  const fs::path relative = fs::path(name).lexically_normal();
  if (!stays_below(relative)) {
    throw ConfigError(
        Diagnostic{.path = path,
                   .what = "'" + name + "' is not a directory below " + parent.string(),
                   .hint = "a relative name without '..', not empty"});
  }
  const fs::path directory = parent / (relative.has_filename() ? relative : relative.parent_path());
  check_length(directory, path);
  return directory;
}

// A symbolic link must not leave it, either.
void refuse_way_out(const fs::path& root, const fs::path& directory, const std::string& path) {
  const fs::path real = fs::weakly_canonical(directory);
  if (stays_below(real.lexically_relative(fs::weakly_canonical(root)))) return;
  throw ConfigError(Diagnostic{.path = path,
                               .what = directory.string() + " leads to " + real.string() +
                                       " by a symbolic link, out of " + root.string()});
}

// The placeholders of a job's strings, besides those of directories.
struct Proxies {
  const launch::DirProperties& properties;
  const ExperimentLocation& location;
  const JobPlan& plan;
  fs::path wu_dir, config_file;
};

class JobText final : public launch::SubdirFormat {
 public:
  JobText(const launch::SubdirFormat& dirs, const Proxies& proxies)
      : dirs_(dirs), proxies_(proxies) {}

  std::vector<std::string> own_placeholders() const override {
    std::vector<std::string> names = dirs_.own_placeholders();
    names.insert(names.end(), {"wu_dir", "xp_dir", "cfg"});
    return names;
  }

  Value own_placeholder(std::string_view name,
                        const launch::DirProperties& properties) const override {
    if (name == "wu_dir") return proxies_.wu_dir.string();
    if (name == "xp_dir") return proxies_.location.directory.string();
    if (name != "cfg") return dirs_.own_placeholder(name, properties);
    if (!proxies_.config_file.empty()) return proxies_.config_file.string();
    throw Error("{cfg} has no value: no run config is given", {.hint = "name one: --cfg=FILE"});
  }

  Value with_format(std::string_view name, std::string_view format) const override {
    if (name != "file") return {};
    const std::map<std::string, LaunchFile>& files = proxies_.plan.files;
    const auto found = files.find(std::string(format));
    if (found != files.end()) return found->second.path(proxies_.location.directory).string();
    std::vector<std::string> known;
    for (const auto& entry : files) known.push_back(entry.first);
    throw Error(fmt::format("the job's `files` contain no '{}'", format),
                {.hint = suggestion(format, known)});
  }

 private:
  const launch::SubdirFormat& dirs_;
  const Proxies& proxies_;
};

// Every string in a value, including nested tables and lists.
Value expanded_value(const launch::SubdirFormat& format, const Value& value,
                     const launch::DirProperties& properties, const std::string& path) {
  if (value.is_string()) return expand(format, value.as_string(), properties, path);
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

Value without_launch(Value config) {
  for (const char* key : {"xp", "defaults"}) config.erase(key);
  return config;
}

std::string environment_text(const Value& value) {
  if (value.is_string()) return value.as_string();
  return value.is_null() ? std::string() : to_json(value);
}

// The first words of argv.
std::vector<std::string> program_words(const JobProgram& program, const fs::path& directory) {
  std::vector<std::string> words = program.interpreter;
  words.push_back(program.file.path(directory).string());
  return words;
}

void refuse_nul(const std::string& text, const std::string& path) {
  if (text.find('\0') == std::string::npos) return;
  throw ConfigError(Diagnostic{
      .path = path, .what = "a string with a zero byte cannot be passed to a program", .hint = {}});
}

// Python scripts find their modules in the directory of the original, besides PYTHONPATH.
void add_module_path(Job& job, const JobProgram& program) {
  if (!program.is_python || program.file.copy.empty()) return;
  constexpr const char* kName = "PYTHONPATH";
  std::string path = program.file.original.parent_path().string();
  const auto given = std::find_if(job.env.begin(), job.env.end(),
                                  [&](const auto& entry) { return entry.first == kName; });
  if (given != job.env.end()) {
    given->second = path + ":" + given->second;
    return;
  }
  const char* passed = launch::passes_through(job, kName) ? std::getenv(kName) : nullptr;
  if (passed != nullptr) path += std::string(":") + passed;
  job.env.emplace_back(kName, path);
}

// Of as many processes. No machine has what does not fit.
std::int64_t of_all(std::int64_t amount, std::int64_t processes) {
  std::int64_t product = 0;
  const bool is_too_much = __builtin_mul_overflow(amount, processes, &product);
  return is_too_much ? std::numeric_limits<std::int64_t>::max() : product;
}

bool has_argument(const JobPlan& plan, std::string_view name) {
  return std::any_of(plan.arguments.begin(), plan.arguments.end(),
                     [&](const Argument& given) { return given.name == name; });
}

// The overrides of a job. A job with its own mode, such as that of standalone_eval, keeps it.
std::vector<std::string> as_options(const std::vector<std::string>& overrides,
                                    const JobPlan& plan) {
  const bool has_mode = has_argument(plan, "mode");
  std::vector<std::string> words;
  for (const std::string& word : overrides) {
    if (!has_mode || !word.starts_with("mode=")) words.push_back("--set=" + word);
  }
  return words;
}

}  // namespace

fs::path root_directory(const launch::Experiment& experiment, const std::string& name,
                        const std::string& author, const std::string& cell) {
  launch::DirProperties properties;
  properties.name = name;
  properties.author = author;
  properties.cell = cell;
  const std::string text =
      experiment.root_dir.empty()
          ? experiments_root(nullptr).string()
          : expand(launch::SubdirFormat(), experiment.root_dir, properties, "xp.root_dir");
  const fs::path path = fs::absolute(text).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

fs::path experiment_directory(const launch::SubdirFormat& format, const fs::path& root,
                              const ExperimentLocation& location, const std::string& cell) {
  launch::DirProperties properties;
  properties.xid = location.xid;
  properties.name = location.name;
  properties.author = location.author;
  properties.cell = cell;
  constexpr const char* kPath = "xp.subdir_format.xp_dirname";
  const fs::path directory =
      join_below(root, expand(format, format.config().xp_dirname, properties, kPath), kPath);
  refuse_way_out(root, directory, kPath);
  return directory;
}

UnitBuilder::UnitBuilder(const ResolvedLaunch& launch, const std::vector<JobPlan>& plans,
                         const launch::SubdirFormat& format, const ExperimentLocation& location,
                         std::vector<std::string> overrides)
    : launch_(launch),
      plans_(plans),
      format_(format),
      location_(location),
      overrides_(std::move(overrides)) {
  cell_ = plans.front().config.cell.value_or("");
}

std::vector<Argument> UnitBuilder::arguments(const JobPlan& plan,
                                             const launch::SweepItem& item) const {
  const bool sweeps_config = item.target == launch::SweepTarget::config;
  std::vector<Argument> arguments = plan.arguments;
  for (const auto& swept : item.args) {
    const std::string& name = swept.first;
    const Value& value = swept.second;
    if (!plan.gets(name)) continue;
    if (!sweeps_config && !launch::is_argument_name(name)) {
      throw ConfigError(Diagnostic{.path = "xp.sweep",
                                   .what = "'" + name + "' is swept, but is not an argument name",
                                   .hint = "omit the dashes"});
    }
    if (sweeps_config && name == "mode" && has_argument(plan, name)) {
      throw ConfigError(Diagnostic{.path = "xp.sweep",
                                   .what = "the job '" + plan.name + "' has its own mode",
                                   .hint = "remove mode from the sweep, or set "
                                           "xp.jobs_provider.standalone_eval=false"});
    }
    const std::string word = sweeps_config ? "cfg." + name : name;
    const auto found = std::find_if(arguments.begin(), arguments.end(),
                                    [&](const Argument& given) { return given.name == word; });
    // A job's own path in the config is never a default for a sweep.
    if (found != arguments.end() && (sweeps_config || found->value.origin().file == kCommandLine)) {
      throw ConfigError(Diagnostic{.where = found->value.origin(),
                                   .path = joined_path("xp.jobs", plan.name) + ".args",
                                   .what = "'" + word + "' is both swept and set",
                                   .hint = "remove one of them"});
    }
    set_argument(arguments, word, sweeps_config ? Value(override_value_text(value)) : value);
  }
  return arguments;
}

UnitWork UnitBuilder::work(const launch::SweepItem& item, std::int64_t repeat) const {
  UnitWork work{item, repeat, {}, {}};
  for (const JobPlan& plan : plans_) work.arguments.push_back(arguments(plan, item));
  work.identity = identity(work);
  return work;
}

std::string UnitBuilder::identity(const UnitWork& work) const {
  std::string text = work.repeat > 1 ? fmt::format("repeat {}\n", work.repeat) : std::string();
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const JobPlan& plan = plans_[i];
    text += "job " + plan.name + "\n";
    for (const std::string& word : plan.program.interpreter) text += to_json(word) + "\n";
    text += to_json(plan.program.file.original.string()) + "\n";
    if (plan.program.is_script) text += "script " + plan.program.file.digest + "\n";
    for (const Argument& argument : work.arguments[i]) {
      text += to_json(argument_text(argument)) + "\n";
    }
    // Sorted, so that their order does not matter. The config has the others.
    std::vector<std::string> further;
    if (work.item.target == launch::SweepTarget::config) {
      further = as_options(said_inside(overrides_, work.item), plan);
    }
    std::sort(further.begin(), further.end());
    for (const std::string& word : further) text += to_json(word) + "\n";
    for (const auto& [name, value] : plan.config.env) {
      text += name + "=" + to_json(environment_text(value)) + "\n";
    }
    for (const auto& [name, file] : plan.config.files) {
      const std::string& content = plan.files.at(name).digest;
      text += "file " + name + " " + (content.empty() ? file.text : content) + "\n";
    }
  }
  if (launch_.run) {
    const Value tree = without_launch(launch_.run->tree);
    const Value referring = without_launch(launch_.run->referring);
    text += to_json(tree) + "\n";
    // A reference to a value is different work from the value.
    if (!(referring == tree)) text += to_json(referring) + "\n";
  }
  return digest(text);
}

WorkUnit UnitBuilder::build(const UnitWork& work, std::int64_t wid, std::int64_t units) const {
  launch::DirProperties properties;
  properties.xid = location_.xid;
  properties.name = location_.name;
  properties.author = location_.author;
  properties.cell = cell_;
  properties.wid = wid;
  properties.units = units;
  properties.repeat = work.repeat;
  properties.sweep = work.item;
  constexpr const char* kPath = "xp.subdir_format.wu_dirname";
  WorkUnit unit;
  unit.wid = wid;
  unit.identity = work.identity;
  unit.repeat = work.repeat;
  unit.directory = join_below(
      location_.directory, expand(format_, format_.config().wu_dirname, properties, kPath), kPath);
  unit.sweep = work.item;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    unit.jobs.push_back(job(plans_[i], work.arguments[i], properties, unit.directory));
  }
  return unit;
}

void UnitBuilder::add_plugin_dirs(Job& job, std::size_t at) const {
  std::vector<std::string> words;
  for (const std::string& folder : location_.plugin_dirs) words.push_back("--plugin-dir=" + folder);
  job.argv.insert(job.argv.begin() + static_cast<std::ptrdiff_t>(at), words.begin(), words.end());
}

Job UnitBuilder::job(const JobPlan& plan, const std::vector<Argument>& arguments,
                     const launch::DirProperties& properties, const fs::path& directory) const {
  const JobConfig& config = plan.config;
  const launch::SweepItem& item = properties.sweep;
  const bool sweeps_config = item.target == launch::SweepTarget::config;
  const bool says_all = sweeps_config && !location_.unit_file.empty() && is_run(plan);
  const Proxies proxies{properties, location_, plan, directory,
                        says_all ? location_.unit_file : location_.config_file};
  const JobText text(format_, proxies);
  const std::string path = joined_path("xp.jobs", plan.name);
  Job job;
  job.name = plan.name;
  job.argv = program_words(plan.program, location_.directory);
  if (plan.program.file.copy.empty() && !plan.program.file.digest.empty()) {
    job.programs = {{plan.program.file.original, plan.program.file.digest}};
  }
  const std::size_t command = job.argv.size();
  for (Argument argument : arguments) {
    // Values of a sweep have no placeholders.
    const bool swept = std::any_of(item.args.begin(), item.args.end(), [&](const auto& given) {
      return argument.name == (sweeps_config ? "cfg." + given.first : given.first);
    });
    if (!swept) argument.value = expanded_value(text, argument.value, properties, path + ".args");
    job.argv.push_back(argument_text(argument));
    refuse_nul(job.argv.back(), path + ".args");
  }
  if (is_run(plan)) add_plugin_dirs(job, command + 1);
  if (sweeps_config) {
    // Other programs read the remaining overrides from the config.
    const auto& said = says_all ? overrides_ : said_inside(overrides_, item);
    for (std::string& word : as_options(said, plan)) job.argv.push_back(std::move(word));
  }
  const JobProcesses processes = processes_of(plan, launch_, item);
  if (is_run(plan) && processes.total() > 1) {
    job.argv.push_back("--processes=" + std::to_string(processes.total()));
  }
  for (const auto& [name, value] : config.env) {
    job.env.emplace_back(name,
                         environment_text(expanded_value(text, value, properties, path + ".env")));
    refuse_nul(job.env.back().second, joined_path(path + ".env", name));
  }
  job.env_pass = config.env_pass.value_or(std::vector<std::string>());
  add_module_path(job, plan.program);
  job.working_directory = location_.working_directory;
  job.directory = directory / "jobs" / plan.name;
  const launch::Platform platform =
      launch::parse_platform(config.platform.value_or("")).value_or(launch::Platform());
  const bool on_cpu = platform.name == "cpu";
  job.platform = platform.name;
  job.cell = config.cell.value_or("");
  const std::int64_t cores = config.cores.value_or(0);
  job.cores = of_all(cores > 0                      ? cores
                     : on_cpu && platform.count > 0 ? platform.count
                                                    : 1,
                     processes.own);
  job.gpus = of_all(config.gpus.value_or(on_cpu ? 0 : platform.count), processes.own);
  job.replicas = processes.replicas;
  job.nodes = config.nodes.value_or(job.replicas);
  job.communicates = is_run(plan) && job.replicas > 1;
  job.processes = processes.total();
  job.process_counts = processes.counts;
  job.memory_bytes = of_all(config.memory.value_or(Bytes()).count, processes.own);
  job.time_limit_seconds = config.time_limit.value_or(Duration()).seconds;
  job.priority = config.priority.value_or(job.priority);
  job.retries = config.retries.value_or(0);
  job.shared = launch_.experiment.shared;
  job.after = plan.after;
  job.tells_done = is_run(plan);
  return job;
}

}  // namespace trivet
