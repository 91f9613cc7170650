// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/unit_check.h"

#include <algorithm>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "config/modes.h"
#include "config/overrides/override.h"
#include "config/overrides/override_effects.h"
#include "config/run_rules.h"
#include "launch/plan/unit_config.h"
#include "run/run_arguments.h"
#include "rundir/config_changes.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostProblems = 20;

// The values that directories and listings show for a unit must be those of its config. References
// and globs are not compared.
void compare(const launch::SweepItem& item, std::size_t number, const Value& config,
             const TypedTree& tree, Diagnostics& diagnostics) {
  for (const auto& [path, value] : item.args) {
    const std::string text = override_value_text(value);
    if (needs_matching(path) || text.find("${") != std::string::npos) continue;
    if (says(config, tree, path, value)) continue;
    const Value* found = config.find_path(path);
    diagnostics.add({value.origin(), path,
                     fmt::format("item {} of the sweep sets {}, but its config has {}", number,
                                 to_toml(value), found != nullptr ? to_toml(*found) : "no value"),
                     "write the value as the config has it"});
  }
}

// The launch counts the processes of a run before it resolves each unit: by the job, by the config
// of all units, and by values of a sweep that name mesh.processes.
void refuse_uncounted(const launch::Job& job, const ExperimentConfig& config,
                      Diagnostics& diagnostics) {
  const std::int64_t processes = trains(config.mode) ? config.mesh.processes : 1;
  const bool is_counted = std::ranges::any_of(
      job.argv, [](const std::string& word) { return word.starts_with("--processes="); });
  if (processes == 1 || is_counted) return;
  diagnostics.add(
      {{},
       "mesh.processes",
       fmt::format("is {} for the job '{}', which is launched as one process", processes, job.name),
       fmt::format("--xp.jobs.{}.replicas={}", job.name, processes)});
}

// The request that the job's process will build from its words.
ConfigRequest request_of(const launch::Job& job, const std::map<fs::path, std::string>& texts) {
  ConfigRequest request = parse_run_arguments(std::span(job.argv).subspan(2)).request;
  for (fs::path& file : request.files) {
    std::error_code ignored;
    const fs::path there = job.working_directory / file;
    if (fs::exists(there, ignored)) file = there;
  }
  request.texts = texts;
  return request;
}

}  // namespace

UnitCheck::UnitCheck(ConfigCatalog& catalog, fs::path config_file, std::vector<std::string> words,
                     std::map<fs::path, std::string> texts, const ConfigRequest* told)
    : catalog_(catalog),
      config_file_(std::move(config_file)),
      words_(std::move(words)),
      texts_(std::move(texts)),
      told_(told) {}

void UnitCheck::check(const launch::WorkUnit& unit, std::size_t number) {
  bool runs = false;
  for (const launch::Job& job : unit.jobs) {
    runs = runs || job.tells_done;
    if (job.tells_done) check_job(unit, job, number);
  }
  if (runs || unit.sweep.target != launch::SweepTarget::config) return;
  ConfigRequest request{.files = {config_file_}, .texts = texts_};
  request.overrides = item_overrides(unit.sweep, number);
  for (const std::string& word : said_inside(words_, unit.sweep)) {
    request.overrides.push_back(make_override(word));
  }
  check_config(unit, nullptr, request, number);
}

void UnitCheck::check_job(const launch::WorkUnit& unit, const launch::Job& job,
                          std::size_t number) {
  try {
    check_config(unit, &job, request_of(job, texts_), number);
    if (!job.process_counts.empty()) check_counts(unit, job, number);
  } catch (const UsageError& error) {
    diagnostics_.add(
        {{}, joined_path("xp.jobs", job.name) + ".args", error.message(), error.hint()});
  }
}

void UnitCheck::check_counts(const launch::WorkUnit& unit, const launch::Job& job,
                             std::size_t number) {
  constexpr const char* kProcesses = "mesh.processes";
  try {
    const ResolvedConfig most = resolve_config(request_of(job, texts_), catalog_);
    for (const std::int64_t count : job.process_counts) {
      if (count == job.processes) continue;
      const launch::Job fewer = launch::with_processes(job, count);
      const ResolvedConfig config = resolve_config(request_of(fewer, texts_), catalog_);
      check_run(config);
      for (const ConfigChange& change :
           config_changes(most.tree, config.tree, catalog_.schemas())) {
        if (change.path == kProcesses) continue;
        diagnostics_.add(
            {{},
             change.path,
             fmt::format("is {} with {} processes and {} with {}, but the job '{}' may have both",
                         change.before, job.processes, change.after, count, job.name),
             fmt::format("set it without {}, or --xp.jobs.{}.replicas={}", kProcesses, job.name,
                         job.processes)});
        return;
      }
    }
  } catch (const ConfigError& error) {
    tell(unit, number, error);
  }
}

void UnitCheck::check_config(const launch::WorkUnit& unit, const launch::Job* job,
                             const ConfigRequest& request, std::size_t number) {
  try {
    const ResolvedConfig config = resolve_config(request, catalog_);
    if (unit.sweep.target == launch::SweepTarget::config) {
      const TypedTree tree(config_file_schema(), catalog_.schemas());
      compare(unit.sweep, number, config.tree, tree, diagnostics_);
    }
    check_run(config);
    if (job != nullptr) refuse_uncounted(*job, config.experiment, diagnostics_);
  } catch (const ConfigError& error) {
    tell(unit, number, error);
  }
}

namespace {

// An error in a sweep value of a file is reported at that location. `given`: number of overrides
// before those of the item.
void set_location(Diagnostic& problem, const launch::SweepItem& item, std::size_t number,
                  std::size_t given) {
  const Origin& where = problem.where;
  const auto line = static_cast<std::size_t>(std::max(where.line, 0));
  if (where.file != kCommandLine || line <= given || line > given + item.args.size()) return;
  const auto& [path, value] = item.args[line - given - 1];
  if (value.origin().file.empty() || value.origin().file == kCommandLine) return;
  problem.where = value.origin();
  problem.where.note =
      fmt::format("item {} of the sweep: {}={}", number, path, override_value_text(value));
}

}  // namespace

void UnitCheck::tell(const launch::WorkUnit& unit, std::size_t number, const ConfigError& error) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  if (told_ != nullptr) {
    ConfigRequest request = *told_;
    if (unit.sweep.target == launch::SweepTarget::config) {
      for (Override& given : item_overrides(unit.sweep, number)) {
        request.overrides.push_back(std::move(given));
      }
    }
    try {
      const ResolvedLaunch resolved = resolve_launch(request, catalog_);
      if (resolved.run) check_run(*resolved.run);
    } catch (const ConfigError& as_told) {
      diagnostics = as_told.diagnostics();
      for (Diagnostic& problem : diagnostics) {
        set_location(problem, unit.sweep, number, told_->overrides.size());
      }
    }
  }
  for (Diagnostic& problem : diagnostics) diagnostics_.add(std::move(problem));
}

bool UnitCheck::has_enough() const {
  return diagnostics_.list().size() > kMostProblems;
}

void UnitCheck::throw_if_any() const {
  std::set<std::pair<std::string, std::string>> seen;
  Diagnostics distinct;
  for (const Diagnostic& problem : diagnostics_.list()) {
    if (seen.emplace(problem.path, problem.what).second) distinct.add(problem);
  }
  distinct.throw_if_any();
}

}  // namespace trivet
