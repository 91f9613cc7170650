// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/references.h"
#include "config/run_rules.h"
#include "config/toml_writer.h"
#include "launch/experiment_store.h"
#include "launch/launch_rules.h"
#include "launch/supervisor.h"
#include "launch/sweep_items.h"
#include "launch/unit_config.h"
#include "train/file_io.h"
#include "train/process_info.h"
#include "trivet/digest.h"
#include "trivet/enums.h"
#include "trivet/error.h"
#include "trivet/json.h"
#include "trivet/registry.h"
#include "trivet/version.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::WorkUnit;

std::string user_name() {
  if (const passwd* entry = ::getpwuid(::getuid())) return entry->pw_name;
  const char* name = std::getenv("USER");
  return name != nullptr && *name != '\0' ? name : "unknown";
}

Value text_list(const std::vector<std::string>& texts) {
  Value list = Value::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

std::vector<std::string> texts_in(const Value& facts, std::string_view key) {
  std::vector<std::string> texts;
  if (const Value* list = facts.find(key)) {
    for (const Value& text : list->items()) texts.push_back(text.as_text());
  }
  return texts;
}

// A list, or a text with commas.
std::vector<std::string> tag_list(const Value& tags) {
  std::vector<std::string> list;
  if (tags.is_array()) {
    for (const Value& tag : tags.items()) list.push_back(tag.as_text());
  }
  if (!tags.is_text()) return list;
  std::string rest = tags.as_text();
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (comma != 0) list.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? std::string() : rest.substr(comma + 1);
  }
  return list;
}

std::unique_ptr<SubdirFormat> subdir_format(const launch::Experiment& experiment) {
  return make(experiment.subdir_format);
}

// The [xp] and [sweep] of an experiment as a config file.
std::string launch_text(const ResolvedLaunch& launch, const std::string& config_name) {
  Value file = Value::table();
  if (!config_name.empty()) file.set("base", text_list({config_name}));
  file.set("xp", launch.xp);
  escape_references(file);
  // What a sweep refers to is the run's.
  if (launch.sweeps.is_table()) file.set("sweep", launch.sweeps);
  return write_toml(file, {.header = "What trivet launch was told, complete."});
}

// What this process writes from now on, and the jobs, which inherit it.
void keep_private(const launch::Experiment& experiment) {
  if (!experiment.shared) ::umask(077);
}

std::string main_cell(const std::vector<JobPlan>& plans) {
  return plans.front().config.cell.value_or("");
}

}  // namespace

struct Launcher::Impl {
  Impl(LaunchRequest given, ConfigCatalog& known);

  ExperimentPlace place_of(std::int64_t xid) const;
  fs::path directory_of(std::int64_t xid) const;
  std::string config_name(const fs::path& directory) const;
  PlannedLaunch planned(const ExperimentPlace& place, std::vector<WorkUnit> recorded) const;
  void leave_units_to_orchestrator();
  void check_with_orchestrator(const std::vector<WorkUnit>& units,
                               const ExperimentPlace& place) const;
  void refuse_unknown(std::int64_t xid, const ExperimentStore& store) const;
  ExperimentStore::Place take_place() const;
  std::string write_configs(const ExperimentPlace& place) const;
  void write_facts(const ExperimentPlace& place, const std::string& config,
                   const std::vector<std::string>& tags) const;
  PlannedLaunch record(const ExperimentPlace& place) const;
  std::vector<std::string> overrides() const { return run_overrides(request.config.overrides); }

  LaunchRequest request;
  ConfigCatalog& catalog;
  ResolvedLaunch launch;
  LaunchFiles files{fs::current_path()};
  std::vector<JobPlan> plans;
  SweepItems sweep;
  std::unique_ptr<SubdirFormat> format;
  std::string name, author;
  std::vector<std::string> intent;
  fs::path root;
};

Launcher::Impl::Impl(LaunchRequest given, ConfigCatalog& known)
    : request(std::move(given)), catalog(known) {
  launch = resolve_launch(without_swept(request.config, request.sweeps), catalog);
  plans = plan_jobs(launch, files);
  if (!request.sweeps.empty()) imply_sweep(launch);
  sweep = sweep_items(launch, request.sweeps);
  if (launch.run && !sweep.sweeps_config) check_run(*launch.run);
  check_items_once(sweep, request.config, catalog);
  refuse_lost_names(sweep, plans);
  format = subdir_format(launch.experiment);
  name = launch.experiment.name;
  if (name.empty()) name = fs::path(request.source).stem().string();
  author = launch.experiment.author.empty() ? user_name() : launch.experiment.author;
  root = root_directory(launch.experiment, name, author, main_cell(plans));
  // So that the record is complete.
  if (launch.experiment.root_dir.empty()) launch.xp.set("root_dir", root.string());
  leave_units_to_orchestrator();
}

// Where the orchestrator makes the units there are none at first, and no sweep.
void Launcher::Impl::leave_units_to_orchestrator() {
  DiskRecords none(root);
  OrchestratorContext context{root, none, [] {}};
  const std::unique_ptr<Orchestrator> orchestrator = make(launch.experiment.orchestrator, context);
  if (!orchestrator->makes_units()) return;
  intent = orchestrator->intent();
  const bool is_swept = sweep.items.size() != 1 || !sweep.items.front().args.empty();
  if (is_swept || launch.experiment.repeats > 1) {
    const std::string path = is_swept ? "xp.sweep" : "xp.repeats";
    throw ConfigError(Problem{.where = {},
                              .path = path,
                              .what = fmt::format("{} is set, but {} makes the work units itself",
                                                  path, launch.experiment.orchestrator.key()),
                              .hint = is_swept
                                          ? "set xp.sweep to false, or take another orchestrator"
                                          : "leave it out, or take another orchestrator"});
  }
  sweep.items.clear();
}

fs::path Launcher::Impl::directory_of(std::int64_t xid) const {
  ExperimentPlace place;
  place.xid = xid;
  place.name = name;
  place.author = author;
  return experiment_directory(*format, root, place, main_cell(plans));
}

// The run's config gets a name of its own where another one lies in the directory already.
std::string Launcher::Impl::config_name(const fs::path& directory) const {
  if (!launch.run) return {};
  const std::string text = unit_config_text(launch);
  std::error_code ignored;
  const fs::path first = directory / "config.toml";
  if (!fs::exists(first, ignored) || read_text(first) == text) return "config.toml";
  return "config-" + digest(text).substr(0, 8) + ".toml";
}

ExperimentPlace Launcher::Impl::place_of(std::int64_t xid) const {
  ExperimentPlace place;
  place.xid = xid;
  place.name = name;
  place.author = author;
  place.working_directory = fs::current_path();
  const std::optional<fs::path> known = ExperimentStore(root).find(xid);
  place.directory = known ? *known : directory_of(xid);
  const std::string config = config_name(place.directory);
  if (!config.empty()) place.config_file = place.directory / config;
  return place;
}

PlannedLaunch Launcher::Impl::planned(const ExperimentPlace& place,
                                      std::vector<WorkUnit> recorded) const {
  const UnitBuilder builder(launch, plans, *format, place, overrides());
  PlannedLaunch planned;
  planned.xid = place.xid;
  planned.name = name;
  planned.orchestrator = launch.experiment.orchestrator.key();
  planned.root = root;
  planned.directory = place.directory;
  planned.tags = tag_list(launch.experiment.tags);
  planned.tags.insert(planned.tags.end(), sweep.tags.begin(), sweep.tags.end());
  std::set<std::string> known;
  std::int64_t last = 0;
  for (const WorkUnit& unit : recorded) {
    known.insert(unit.identity);
    last = std::max(last, unit.wid);
  }
  std::set<std::string> wanted;
  std::vector<std::pair<const SweepItem*, std::int64_t>> missing;
  for (const SweepItem& item : sweep.items) {
    for (std::int64_t repeat = 1; repeat <= launch.experiment.repeats; ++repeat) {
      const std::string identity = builder.identity(item, sweep.sweeps_config, repeat);
      if (!wanted.insert(identity).second) {
        ++planned.duplicates;
      } else if (!known.contains(identity)) {
        missing.emplace_back(&item, repeat);
      }
    }
  }
  const std::int64_t units = last + std::ssize(missing);
  for (const auto& [item, repeat] : missing) {
    planned.units.push_back(builder.build(*item, sweep.sweeps_config, ++last, units, repeat));
  }
  planned.intent = intent;
  planned.copies = files.to_value();
  planned.there = std::move(recorded);
  refuse_shared_directories(planned.units, planned.there);
  return planned;
}

void Launcher::Impl::check_with_orchestrator(const std::vector<WorkUnit>& units,
                                             const ExperimentPlace& place) const {
  // Checking records nothing: a unit that is added is made, and forgotten.
  const UnitBuilder builder(launch, plans, *format, place, overrides());
  const bool sweeps_config = launch.run.has_value();
  DiskRecords records(place.directory, [&](DiskRecords&, const SweepItem& item) {
    refuse_conflicts(launch, {item});
    check_items({{item}, sweeps_config, {}}, request.config, catalog);
    return builder.build(item, sweeps_config, 1, 1);
  });
  OrchestratorContext context{place.directory, records, [] {}, own_program()};
  Problems problems;
  make(launch.experiment.orchestrator, context)->check(units, problems);
  problems.throw_if_any();
}

// The name of the run's config there; empty without one.
std::string Launcher::Impl::write_configs(const ExperimentPlace& place) const {
  std::string config;
  if (!place.config_file.empty()) {
    config = place.config_file.filename().string();
    replace_file(place.config_file, unit_config_text(launch), Durability::synced);
  }
  replace_file(place.directory / "launch.toml", launch_text(launch, config), Durability::synced);
  return config;
}

void Launcher::Impl::write_facts(const ExperimentPlace& place, const std::string& config,
                                 const std::vector<std::string>& tags) const {
  const Value facts = Value::table({{"xid", place.xid},
                                    {"name", name},
                                    {"author", author},
                                    {"note", launch.experiment.note},
                                    {"tags", text_list(tags)},
                                    {"importance", enum_name(launch.experiment.importance)},
                                    {"launched", unix_time()},
                                    {"host", host_name()},
                                    {"version", std::string(version())},
                                    {"root", root.string()},
                                    {"source", request.source},
                                    {"config", config},
                                    {"working_directory", place.working_directory.string()},
                                    {"plugin_dirs", text_list(request.plugin_dirs)},
                                    {"files", files.to_value()},
                                    {"overrides", text_list(overrides())},
                                    {"orchestrator", launch.experiment.orchestrator.key()}});
  replace_file(place.directory / "experiment.json", to_json(facts, JsonStyle::indented),
               Durability::synced);
}

// A number adds to an experiment, or goes on with a launch that was killed.
void Launcher::Impl::refuse_unknown(std::int64_t xid, const ExperimentStore& store) const {
  if (store.is_unfinished(xid)) return;
  const Value* where = launch.xp.find("xid");
  throw ConfigError(
      Problem{.where = where != nullptr ? where->origin() : Origin(),
              .path = "xp.xid",
              .what = fmt::format("there is no experiment {} in {}", xid, root.string()),
              .hint = "leave it out for a new experiment, which gets the next number"});
}

ExperimentStore::Place Launcher::Impl::take_place() const {
  const ExperimentStore store(root);
  const std::optional<std::int64_t> wanted = launch.experiment.xid;
  if (!wanted) return store.create([&](std::int64_t xid) { return directory_of(xid); });
  if (const auto known = store.find(*wanted)) return {*wanted, *known};
  refuse_unknown(*wanted, store);
  return store.create_as(*wanted, directory_of(*wanted));
}

// The facts come last: a launch that is killed before has made no experiment, and one after it has
// made a whole one, with which `trivet resume` goes on.
PlannedLaunch Launcher::Impl::record(const ExperimentPlace& place) const {
  const FileHandle lock = lock_units(place.directory);
  // Units of a launch that was killed were never started.
  if (!holds_experiment(place.directory)) fs::remove(place.directory / "units.jsonl");
  DiskRecords records(place.directory);
  PlannedLaunch planned = this->planned(place, records.all_units());
  const std::string config = write_configs(place);
  files.copy_into(place.directory);
  records.append(planned.units);
  write_facts(place, config, planned.tags);
  return planned;
}

Launcher::Launcher(LaunchRequest request, ConfigCatalog& catalog)
    : impl_(std::make_unique<Impl>(std::move(request), catalog)) {}
Launcher::~Launcher() = default;

PlannedLaunch Launcher::plan() {
  const ExperimentStore store(impl_->root);
  const std::optional<std::int64_t> wanted = impl_->launch.experiment.xid;
  if (wanted && !store.find(*wanted)) impl_->refuse_unknown(*wanted, store);
  const std::int64_t xid = wanted.value_or(store.next_xid());
  const ExperimentPlace place = impl_->place_of(xid);
  std::vector<WorkUnit> recorded;
  if (holds_experiment(place.directory)) recorded = DiskRecords(place.directory).all_units();
  PlannedLaunch planned = impl_->planned(place, std::move(recorded));
  impl_->check_with_orchestrator(planned.units, place);
  return planned;
}

PlannedLaunch Launcher::launch() {
  plan();
  keep_private(impl_->launch.experiment);
  const ExperimentPlace place = impl_->place_of(impl_->take_place().xid);
  const PlannedLaunch planned = impl_->record(place);
  LaunchedExperiment launched(place.directory, impl_->catalog);
  launched.orchestrator().launch(planned.units);
  return planned;
}

struct LaunchedExperiment::Impl {
  fs::path directory;
  ConfigCatalog& catalog;
  Value facts;
  ResolvedLaunch launch;
  std::optional<LaunchFiles> files;
  std::vector<JobPlan> plans;
  std::unique_ptr<SubdirFormat> format;
  ExperimentPlace place;
  std::unique_ptr<DiskRecords> records;
  std::unique_ptr<OrchestratorContext> context;
  std::unique_ptr<Orchestrator> orchestrator;

  WorkUnit add(DiskRecords& to, const SweepItem& item);
};

LaunchedExperiment::LaunchedExperiment(fs::path directory, ConfigCatalog& catalog,
                                       const std::vector<std::string>& plugin_dirs)
    : impl_(std::make_unique<Impl>(Impl{fs::absolute(directory).lexically_normal(),
                                        catalog,
                                        {},
                                        {},
                                        {},
                                        {},
                                        {},
                                        {},
                                        {},
                                        {},
                                        {}})) {
  Impl& impl = *impl_;
  if (!holds_experiment(impl.directory)) {
    throw RunError(impl.directory.string() + " holds no experiment");
  }
  impl.facts = experiment_facts(impl.directory);
  impl.launch = resolve_record(impl.directory / "launch.toml", catalog);
  keep_private(impl.launch.experiment);
  impl.records = std::make_unique<DiskRecords>(
      impl.directory,
      [this](DiskRecords& to, const SweepItem& item) { return impl_->add(to, item); });
  std::vector<std::string> folders = plugin_dirs;
  const std::vector<std::string> recorded = recorded_plugin_dirs(impl.facts);
  folders.insert(folders.end(), recorded.begin(), recorded.end());
  impl.context = std::make_unique<OrchestratorContext>(OrchestratorContext{
      impl.directory, *impl.records,
      [at = impl.directory, folders] { start_supervisor(at, folders); }, own_program()});
  impl.orchestrator = make(impl.launch.experiment.orchestrator, *impl.context);
}

LaunchedExperiment::~LaunchedExperiment() = default;

std::int64_t LaunchedExperiment::xid() const {
  return impl_->facts.find("xid")->as_integer();
}
const Value& LaunchedExperiment::facts() const {
  return impl_->facts;
}
DiskRecords& LaunchedExperiment::records() {
  return *impl_->records;
}
Orchestrator& LaunchedExperiment::orchestrator() {
  return *impl_->orchestrator;
}

WorkUnit LaunchedExperiment::Impl::add(DiskRecords& to, const SweepItem& item) {
  if (format == nullptr) {
    const Value* recorded = facts.find("files");
    files.emplace(facts.find("working_directory")->as_text(), directory,
                  recorded != nullptr ? *recorded : Value());
    plans = plan_jobs(launch, *files);
    format = subdir_format(launch.experiment);
    place.xid = facts.find("xid")->as_integer();
    place.name = facts.find("name")->as_text();
    place.author = facts.find("author")->as_text();
    place.directory = directory;
    place.working_directory = facts.find("working_directory")->as_text();
    const std::string config = facts.find("config")->as_text();
    if (!config.empty()) place.config_file = directory / config;
  }
  const bool sweeps_config = launch.run.has_value();
  const std::vector<std::string> overrides = texts_in(facts, "overrides");
  ConfigRequest request{.files = {directory / "launch.toml"}};
  for (const std::string& word : said_again(overrides, item)) {
    request.overrides.push_back(make_override(word));
  }
  check_items({{item}, sweeps_config, {}}, request, catalog);
  const UnitBuilder builder(launch, plans, *format, place, overrides);
  const std::string identity = builder.identity(item, sweeps_config);
  const FileHandle lock = lock_units(directory);
  to.refresh();
  std::int64_t last = 0;
  for (const WorkUnit& unit : to.all_units()) {
    if (unit.identity == identity) return unit;
    last = std::max(last, unit.wid);
  }
  const WorkUnit unit = builder.build(item, sweeps_config, last + 1, last + 1);
  to.append(std::vector{unit});
  return unit;
}

}  // namespace trivet
