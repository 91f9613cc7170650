// SPDX-License-Identifier: Apache-2.0
#include "builtin/config_jobs.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "config/modes.h"
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

}  // namespace

std::vector<std::pair<std::string, JobConfig>> ConfigJobs::jobs(const Value& config) const {
  const Value* mode = config.find("mode");
  if (mode == nullptr || !mode->is_string()) {
    throw ConfigError(Diagnostic{.path = "xp.jobs_provider",
                                 .what = "trivet/ConfigJobs requires a run's config",
                                 .hint = "name one: --cfg=FILE"});
  }
  const std::optional<Mode> known = enum_from_name<Mode>(mode->as_string());
  if (known && !trains(*known)) return {{"eval", run_job("")}};
  if (!config_.standalone_eval) return {{"train", run_job("")}};
  return {{"train", run_job(enum_name(Mode::train))},
          {"eval", run_job(enum_name(Mode::continuous_eval))}};
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
