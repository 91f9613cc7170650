// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "base/process_info.h"
#include "launch/control/launched_experiment.h"
#include "launch/control/supervisor_process.h"
#include "launch/plan/launch_rules.h"
#include "launch/plan/missing_units.h"
#include "launch/plan/sweep_items.h"
#include "launch/plan/unit_check.h"
#include "launch/plan/unit_config.h"
#include "launch/store/experiment_store.h"
#include "launch/store/launch_record.h"
#include "launch/store/requested_sweep.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/plugin/registry.h"
#include "trivet/text/strings.h"
#include "trivet/version.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::WorkUnit;

// A list, or a string with commas.
std::vector<std::string> tag_list(const Value& tags) {
  std::vector<std::string> list;
  if (tags.is_array()) {
    for (const Value& tag : tags.items()) list.push_back(tag.as_string());
  }
  if (!tags.is_string()) return list;
  for (const std::string_view tag : split(tags.as_string(), ',')) {
    if (!tag.empty()) list.emplace_back(tag);
  }
  return list;
}

}  // namespace

struct Launcher::Impl {
  Impl(LaunchRequest given, ConfigCatalog& known)
      : request(start_from_record(std::move(given))),
        catalog(known),
        told(plan_launch(request, catalog)),
        format(make(told.launch.experiment.subdir_format)) {}

  ExperimentLocation location_of(std::int64_t xid) const;
  fs::path directory_of(std::int64_t xid) const;
  UnitBuilder builder(const ExperimentLocation& location) const;
  PlannedLaunch planned(const ExperimentLocation& location, std::vector<WorkUnit> recorded,
                        std::int64_t last_wid) const;
  UnitCheck unit_check(const ExperimentLocation& location) const;
  void check_units(const PlannedLaunch& planned, const ExperimentLocation& location) const;
  void check_with_orchestrator(const std::vector<WorkUnit>& units,
                               const ExperimentLocation& location) const;
  void refuse_unknown(std::int64_t xid, const ExperimentStore& store) const;
  ExperimentStore::Location take_location() const;
  void write_configs(const ExperimentLocation& location) const;
  void write_facts(const ExperimentLocation& location, const std::vector<std::string>& tags) const;
  ExperimentLocation expected_location() const;
  PlannedLaunch plan(const ExperimentLocation& location) const;
  PlannedLaunch record(const ExperimentLocation& location, const ExperimentLocation& expected,
                       PlannedLaunch planned) const;

  static LaunchRequest start_from_record(LaunchRequest request) {
    trivet::start_from_record(request.config);
    request.recorded_sweeps = recorded_sweeps(request.config);
    return request;
  }

  LaunchRequest request;
  ConfigCatalog& catalog;
  LaunchPlan told;
  std::unique_ptr<launch::SubdirFormat> format;
};

fs::path Launcher::Impl::directory_of(std::int64_t xid) const {
  ExperimentLocation location;
  location.xid = xid;
  location.name = told.name;
  location.author = told.author;
  return experiment_directory(*format, told.root, location, told.main_cell());
}

ExperimentLocation Launcher::Impl::location_of(std::int64_t xid) const {
  ExperimentLocation location;
  location.xid = xid;
  location.name = told.name;
  location.author = told.author;
  location.working_directory = fs::current_path();
  location.plugin_dirs = request.plugin_dirs;
  const std::optional<fs::path> known = ExperimentStore(told.root).find(xid);
  location.directory = known ? *known : directory_of(xid);
  const UnitConfig& config = told.config;
  if (!config.text.empty()) {
    location.config_file = file_for(location.directory, "config", config.text);
  }
  if (!config.words.empty()) {
    location.unit_file = file_for(location.directory, "unit", config.files_text);
  }
  return location;
}

PlannedLaunch Launcher::Impl::planned(const ExperimentLocation& location,
                                      std::vector<WorkUnit> recorded, std::int64_t last_wid) const {
  PlannedLaunch planned;
  planned.xid = location.xid;
  planned.name = told.name;
  planned.orchestrator = told.launch.experiment.orchestrator.key();
  planned.root = told.root;
  planned.directory = location.directory;
  planned.tags = tag_list(told.launch.experiment.tags);
  planned.tags.insert(planned.tags.end(), told.sweep.tags.begin(), told.sweep.tags.end());
  MissingUnits missing = missing_units(builder(location), told.sweep,
                                       told.launch.experiment.repeats, recorded, last_wid);
  planned.units = std::move(missing.units);
  planned.items = std::move(missing.items);
  planned.duplicates = missing.duplicates;
  planned.intent = told.intent;
  planned.copies = told.files.to_value();
  planned.there = std::move(recorded);
  refuse_shared_directories(planned.units, planned.there);
  return planned;
}

UnitBuilder Launcher::Impl::builder(const ExperimentLocation& location) const {
  return {told.launch, told.jobs, *format, location, told.config.words};
}

UnitCheck Launcher::Impl::unit_check(const ExperimentLocation& location) const {
  std::map<fs::path, std::string> texts;
  if (!location.config_file.empty()) texts[location.config_file] = told.config.text;
  if (!location.unit_file.empty()) texts[location.unit_file] = told.config.files_text;
  return {catalog, location.config_file, told.config.words, std::move(texts), &request.config};
}

void Launcher::Impl::check_units(const PlannedLaunch& planned,
                                 const ExperimentLocation& location) const {
  UnitCheck check = unit_check(location);
  for (std::size_t i = 0; i < planned.units.size() && !check.has_enough(); ++i) {
    check.check(planned.units[i], planned.items[i]);
  }
  check.throw_if_any();
}

void Launcher::Impl::check_with_orchestrator(const std::vector<WorkUnit>& units,
                                             const ExperimentLocation& location) const {
  // A check records nothing: it builds the added unit and discards it.
  const UnitBuilder builder = this->builder(location);
  DiskRecords records(location.directory, [&](DiskRecords&, launch::SweepItem item) {
    item.target = told.launch.run ? launch::SweepTarget::config : launch::SweepTarget::argument;
    refuse_conflicts(told.launch, {item});
    WorkUnit unit = builder.build(builder.work(item), 1, 1);
    UnitCheck check = unit_check(location);
    check.check(unit, 1);
    check.throw_if_any();
    return unit;
  });
  launch::OrchestratorContext context{location.directory, records, [] {}, own_program()};
  Diagnostics diagnostics;
  make(told.launch.experiment.orchestrator, context)->check(units, diagnostics);
  diagnostics.throw_if_any();
}

void Launcher::Impl::write_configs(const ExperimentLocation& location) const {
  const auto write = [](const fs::path& file, const std::string& text) {
    if (!file.empty()) replace_file(file, text, Durability::synced);
  };
  write(location.config_file, told.config.text);
  write(location.unit_file, told.config.files_text);
  write(location.directory / "launch.toml",
        launch_text(told.launch, location.config_file.filename()));
}

void Launcher::Impl::write_facts(const ExperimentLocation& location,
                                 const std::vector<std::string>& tags) const {
  std::vector<RequestedSweep> sweeps = recorded_sweeps(location.directory);
  for (const RequestedSweep& sweep : told.sweeps) {
    if (std::ranges::find(sweeps, sweep) == sweeps.end()) sweeps.push_back(sweep);
  }
  const Value facts = Value::table({{"xid", location.xid},
                                    {"name", told.name},
                                    {"author", told.author},
                                    {"note", told.launch.experiment.note},
                                    {"tags", Value::array_of(tags)},
                                    {"importance", enum_name(told.launch.experiment.importance)},
                                    {"launched", unix_time()},
                                    {"host", host_name()},
                                    {"version", std::string(version())},
                                    {"root", told.root.string()},
                                    {"source", request.source},
                                    {"config", location.config_file.filename().string()},
                                    {"unit_config", location.unit_file.filename().string()},
                                    {"working_directory", location.working_directory.string()},
                                    {"plugin_dirs", Value::array_of(request.plugin_dirs)},
                                    {"files", told.files.to_value()},
                                    {"overrides", Value::array_of(told.config.words)},
                                    {"sweeps", sweeps_value(sweeps)},
                                    {"orchestrator", told.launch.experiment.orchestrator.key()}});
  replace_file(location.directory / "experiment.json", to_json(facts, JsonStyle::indented),
               Durability::synced);
}

// A number adds units to an experiment, or continues a launch that was killed.
void Launcher::Impl::refuse_unknown(std::int64_t xid, const ExperimentStore& store) const {
  if (store.is_unfinished(xid)) return;
  const Value* where = told.launch.xp.find("xid");
  throw ConfigError(
      Diagnostic{.where = where != nullptr ? where->origin() : Origin(),
                 .path = "xp.xid",
                 .what = fmt::format("experiment {} does not exist in {}", xid, told.root.string()),
                 .hint = "omit it to create a new experiment with the next number"});
}

ExperimentStore::Location Launcher::Impl::take_location() const {
  const ExperimentStore store(told.root);
  const std::optional<std::int64_t> wanted = told.launch.experiment.xid;
  if (!wanted) return store.create([&](std::int64_t xid) { return directory_of(xid); });
  if (const auto known = store.find(*wanted)) return {*wanted, *known};
  refuse_unknown(*wanted, store);
  return store.create_as(*wanted, directory_of(*wanted));
}

// Writes the facts last: a launch that is killed before has created no experiment; after it, the
// experiment is complete and `trivet resume` continues it.
PlannedLaunch Launcher::Impl::record(const ExperimentLocation& location,
                                     const ExperimentLocation& expected,
                                     PlannedLaunch planned) const {
  const UniqueFd lock = lock_units(location.directory);
  // Units of a killed launch were never started.
  if (!holds_experiment(location.directory)) fs::remove(location.directory / "units.jsonl");
  DiskRecords records(location.directory);
  std::vector<WorkUnit> recorded = records.all_units();
  // Another launch may have taken the number, or added units, in the meantime.
  const bool is_expected =
      location.directory == expected.directory && location.config_file == expected.config_file &&
      location.unit_file == expected.unit_file && recorded.size() == planned.there.size();
  if (!is_expected) planned = this->planned(location, std::move(recorded), records.last_wid());
  // Before the files that replace others, because the copies need the most space.
  told.files.copy_into(location.directory);
  write_configs(location);
  records.append(planned.units);
  write_facts(location, planned.tags);
  return planned;
}

ExperimentLocation Launcher::Impl::expected_location() const {
  const ExperimentStore store(told.root);
  const std::optional<std::int64_t> wanted = told.launch.experiment.xid;
  if (wanted && !store.find(*wanted)) refuse_unknown(*wanted, store);
  return location_of(wanted.value_or(store.next_xid()));
}

PlannedLaunch Launcher::Impl::plan(const ExperimentLocation& location) const {
  std::vector<WorkUnit> recorded;
  std::int64_t last_wid = 0;
  if (holds_experiment(location.directory)) {
    const DiskRecords records(location.directory);
    recorded = records.all_units();
    last_wid = records.last_wid();
  }
  PlannedLaunch planned = this->planned(location, std::move(recorded), last_wid);
  check_units(planned, location);
  check_with_orchestrator(planned.units, location);
  return planned;
}

Launcher::Launcher(LaunchRequest request, ConfigCatalog& catalog)
    : impl_(std::make_unique<Impl>(std::move(request), catalog)) {}
Launcher::~Launcher() = default;

const ResolvedLaunch& Launcher::resolved() const {
  return impl_->told.launch;
}

PlannedLaunch Launcher::plan() {
  return impl_->plan(impl_->expected_location());
}

PlannedLaunch Launcher::launch() {
  const ExperimentLocation expected = impl_->expected_location();
  PlannedLaunch planned = impl_->plan(expected);
  keep_private(impl_->told.launch.experiment);
  const ExperimentLocation location = impl_->location_of(impl_->take_location().xid);
  planned = impl_->record(location, expected, std::move(planned));
  LaunchedExperiment launched(location.directory, impl_->catalog);
  launched.orchestrator().launch(planned.units);
  return planned;
}

}  // namespace trivet
