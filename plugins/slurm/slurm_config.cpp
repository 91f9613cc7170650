// SPDX-License-Identifier: Apache-2.0
#include "slurm_config.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace trivet::slurm {
namespace {

// Options that the orchestrator sets itself. Other values would hide its jobs from it.
constexpr std::array<std::string_view, 22> kOwnArguments = {
    "--array",      "-a",
    "--job-name",   "-J",
    "--dependency", "-d",
    "--chdir",      "-D",
    "--output",     "-o",
    "--error",      "-e",
    "--input",      "-i",
    "--wait",       "-W",
    "--open-mode",  "--wrap",
    "--parsable",   "--test-only",
    "--export",     "--kill-on-invalid-dep"};

bool is_own(std::string_view argument) {
  return std::any_of(kOwnArguments.begin(), kOwnArguments.end(), [&](std::string_view own) {
    if (!argument.starts_with(own)) return false;
    const std::string_view rest = argument.substr(own.size());
    // A short option's value may follow without a separator.
    return rest.empty() || rest.front() == '=' || !own.starts_with("--");
  });
}

}  // namespace

void SlurmConfig::validate(Diagnostics& diagnostics) const {
  if (time.seconds < 0) diagnostics.add("time", "must not be negative");
  if (grace.seconds < 0) diagnostics.add("grace", "must not be negative");
  if (timeout.seconds <= 0) diagnostics.add("timeout", "must be more than 0");
  bool takes_value = false;
  for (const std::string& argument : sbatch_args) {
    const bool is_option = argument.size() > 1 && argument.front() == '-';
    if (!is_option && !takes_value) {
      diagnostics.add("sbatch_args", "'" + argument + "' is not an option of sbatch",
                      "options start with '-': \"--constraint=ib\"");
    } else if (is_option && is_own(argument)) {
      diagnostics.add("sbatch_args", "'" + argument + "' is set by the orchestrator", "remove it");
    }
    takes_value = is_option && argument.find('=') == std::string::npos;
  }
}

}  // namespace trivet::slurm
