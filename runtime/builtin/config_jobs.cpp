// SPDX-License-Identifier: Apache-2.0
#include "builtin/config_jobs.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "config/modes.h"
#include "config/overrides/override.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"
#include "trivet/experiment.h"

namespace trivet {
namespace {

using launch::JobConfig;

// trivet run --cfg={cfg} --workdir={wu_dir}; the units' values follow as --cfg.PATH=VALUE.
JobConfig run_job(std::string_view mode) {
  JobConfig job;
  job.target = "trivet";
  Value named = Value::table({{"cfg", "{cfg}"}, {"workdir", "{wu_dir}"}});
  if (!mode.empty()) named.set("mode", std::string(mode));
  job.args = Value::array({"run", named});
  return job;
}

// Braces would be placeholders of an argument.
std::string without_placeholders(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  return escaped;
}

// Changes of the run's config for an evaluation of this name.
JobConfig evaluation_job(const std::string& name, const Map<Value>& changes) {
  JobConfig job = run_job(enum_name(Mode::continuous_eval));
  Value named = job.args.items()[1];
  named.set("eval-name", name);
  for (const auto& [path, value] : changes) {
    named.set("cfg." + path, without_placeholders(override_value_text(value)));
  }
  job.args = Value::array({"run", named});
  return job;
}

}  // namespace

void ConfigJobsConfig::validate(Diagnostics& diagnostics) const {
  for (const auto& entry : evals) {
    const std::string& name = entry.first;
    if (name == "train" || name == "eval") {
      diagnostics.add(joined_path("evals", name), "'" + name + "' is the name of another job",
                      "choose another name");
    } else if (!is_evaluation_name(name)) {
      diagnostics.add(joined_path("evals", name), "'" + name + "' is no name of a directory",
                      "letters, digits, '_', '-' and '.', not first, at most 100");
    }
    for (const auto& [path, value] : entry.second) {
      if (!value.is_table() || path.find('.') != std::string::npos) continue;
      diagnostics.add(joined_path(joined_path("evals", name), path),
                      "would replace all of [" + path + "]",
                      "put a path with dots in it in quotes: \"task.eval_input.batch_size\"");
    }
  }
}

std::vector<std::pair<std::string, JobConfig>> ConfigJobs::jobs(const Value& config) const {
  const Value* mode = config.find("mode");
  if (mode == nullptr || !mode->is_string()) {
    throw ConfigError(Diagnostic{.path = "xp.jobs_provider",
                                 .what = "trivet/ConfigJobs requires a run's config",
                                 .hint = "name one: --cfg=FILE"});
  }
  const std::optional<Mode> known = enum_from_name<Mode>(mode->as_string());
  if (known && !trains(*known)) {
    if (config_.evals.empty()) return {{"eval", run_job("")}};
    throw ConfigError(Diagnostic{.where = mode->origin(),
                                 .path = "xp.jobs_provider.evals",
                                 .what = "the config's mode does not train, so there is no run to "
                                         "follow",
                                 .hint = "remove evals, or set mode=train"});
  }
  std::vector<std::pair<std::string, JobConfig>> jobs;
  const bool is_apart = config_.standalone_eval;
  jobs.emplace_back("train", run_job(is_apart ? enum_name(Mode::train) : std::string_view()));
  if (is_apart) jobs.emplace_back("eval", run_job(enum_name(Mode::continuous_eval)));
  for (const auto& [name, changes] : config_.evals) {
    jobs.emplace_back(name, evaluation_job(name, changes));
  }
  return jobs;
}

bool only_runs_config(const Value& xp) {
  const Value* provider = xp.find("jobs_provider");
  if (provider != nullptr && provider->is_table()) provider = provider->find("type");
  if (provider != nullptr && *provider != "trivet/ConfigJobs") return false;
  const auto says_other = [](const Value& job) {
    return job.is_table() && (job.find("target") != nullptr || job.find("args") != nullptr);
  };
  if (says_other(xp)) return false;
  const Value* jobs = xp.find("jobs");
  return jobs == nullptr || !jobs->is_table() ||
         std::none_of(jobs->members().begin(), jobs->members().end(),
                      [&](const Value::Member& job) { return says_other(job.value); });
}

}  // namespace trivet
