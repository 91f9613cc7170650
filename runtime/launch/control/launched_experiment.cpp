// SPDX-License-Identifier: Apache-2.0
#include "launch/control/launched_experiment.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/process_info.h"
#include "config/resolver.h"
#include "launch/control/supervisor_process.h"
#include "launch/plan/job_plan.h"
#include "launch/plan/launch_files.h"
#include "launch/plan/unit_builder.h"
#include "launch/plan/unit_check.h"
#include "launch/store/experiment_store.h"
#include "launch/store/launch_record.h"
#include "trivet/error.h"
#include "trivet/launch/subdir_format.h"
#include "trivet/plugin/registry.h"

namespace trivet {

namespace fs = std::filesystem;
using launch::WorkUnit;

void keep_private(const launch::Experiment& experiment) {
  if (!experiment.shared) ::umask(077);
}

struct LaunchedExperiment::Impl {
  fs::path directory;
  ConfigCatalog& catalog;
  Value facts;
  ResolvedLaunch launch;
  std::optional<LaunchFiles> files;
  std::vector<JobPlan> plans;
  std::unique_ptr<launch::SubdirFormat> format;
  ExperimentLocation location;
  std::unique_ptr<DiskRecords> records;
  std::unique_ptr<launch::OrchestratorContext> context;
  std::unique_ptr<launch::Orchestrator> orchestrator;

  void plan();
  WorkUnit add(DiskRecords& to, const launch::SweepItem& given);
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
    throw RunError(impl.directory.string() + " contains no experiment");
  }
  impl.facts = experiment_facts(impl.directory);
  impl.launch = resolve_record(impl.directory / "launch.toml", catalog);
  keep_private(impl.launch.experiment);
  impl.records = std::make_unique<DiskRecords>(
      impl.directory,
      [this](DiskRecords& to, const launch::SweepItem& item) { return impl_->add(to, item); });
  std::vector<std::string> folders = plugin_dirs;
  const std::vector<std::string> recorded = recorded_plugin_dirs(impl.facts);
  folders.insert(folders.end(), recorded.begin(), recorded.end());
  impl.context = std::make_unique<launch::OrchestratorContext>(launch::OrchestratorContext{
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
launch::Orchestrator& LaunchedExperiment::orchestrator() {
  return *impl_->orchestrator;
}

// The data for additional units. Loaded when the first one is added.
void LaunchedExperiment::Impl::plan() {
  const Value* recorded = facts.find("files");
  location.working_directory = facts.string_or("working_directory");
  files.emplace(location.working_directory, directory, recorded != nullptr ? *recorded : Value());
  plans = plan_jobs(launch, *files);
  ask_about_jobs(plans, *orchestrator);
  location.xid = facts.find("xid")->as_integer();
  location.name = facts.string_or("name");
  location.author = facts.string_or("author");
  location.directory = directory;
  location.plugin_dirs = recorded_plugin_dirs(facts);
  const std::string config = facts.string_or("config"), unit = facts.string_or("unit_config");
  if (!config.empty()) location.config_file = directory / config;
  if (!unit.empty()) location.unit_file = directory / unit;
  format = make(launch.experiment.subdir_format);
}

WorkUnit LaunchedExperiment::Impl::add(DiskRecords& to, const launch::SweepItem& given) {
  if (format == nullptr) plan();
  launch::SweepItem item = given;
  item.target = launch.run ? launch::SweepTarget::config : launch::SweepTarget::argument;
  const std::vector<std::string> words = texts_in(facts, "overrides");
  const UnitBuilder builder(launch, plans, *format, location, words);
  UnitCheck check(catalog, location.config_file, words, {}, nullptr);
  const UnitWork work = builder.work(item);
  check.check(builder.build(work, 1, 1), 1);
  check.throw_if_any();
  const UniqueFd lock = lock_units(directory);
  to.refresh();
  for (const WorkUnit& unit : to.all_units()) {
    if (unit.identity == work.identity) return unit;
  }
  const std::int64_t wid = to.last_wid() + 1;
  const WorkUnit unit = builder.build(work, wid, wid);
  to.append(std::vector{unit});
  return unit;
}

}  // namespace trivet
