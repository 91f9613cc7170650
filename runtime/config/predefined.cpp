// SPDX-License-Identifier: Apache-2.0
#include "config/predefined.h"

#include <utility>

namespace trivet {
namespace {

constexpr std::pair<std::string_view, std::string_view> kConfigs[] = {
    {"xp/single.toml", R"(# One program, everything said on the command line:
#   trivet launch --xp=xp/single.toml --xp.target=/path/to/program --xp.args.steps=100
[xp]
sweep_info = "sweeps/ConfigSweep"

[xp.jobs.main]
)"},
    {"xp/trainer.toml",
     R"(# A run's config as an experiment. This lies below every config that is launched without --xp.
[xp]
jobs_provider = "trivet/ConfigJobs"
sweep_info = "sweeps/TrainerSweep"

[xp.subdir_format]
wu_dirname = "{wid}{separator_if_sweep}{sweep_kwargs}"
)"},
};

}  // namespace

std::string_view predefined_config(std::string_view name) {
  for (const auto& [known, text] : kConfigs) {
    if (known == name) return text;
  }
  return {};
}

std::vector<std::string_view> predefined_configs() {
  std::vector<std::string_view> names;
  for (const auto& entry : kConfigs) names.push_back(entry.first);
  return names;
}

}  // namespace trivet
