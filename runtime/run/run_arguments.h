// SPDX-License-Identifier: Apache-2.0
// Parses the words of `trivet run`, for the command and for callers that start it in another
// process and must know the result before.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "config/config_arguments.h"
#include "trivet/config/arguments.h"
#include "trivet/config/enums.h"
#include "trivet/experiment.h"

namespace trivet {

inline constexpr std::string_view kModeDocEnd = "; same as mode=MODE";
inline constexpr auto kModeDocText = [] {
  constexpr std::string_view names = enum_list<Mode>();
  std::array<char, names.size() + kModeDocEnd.size()> text{};
  std::ranges::copy(kModeDocEnd, std::ranges::copy(names, text.begin()).out);
  return text;
}();

inline constexpr OptionSpec kOwnRunOptions[] = {
    {.name = "workdir",
     .letter = 'w',
     .value = "DIR",
     .doc = "The run's directory; an existing run continues. Default: the next ROOT/N-NAME",
     .other_names = "model_dir job_log_dir"},
    kRootOption,
    {.name = "mode", .value = "MODE", .doc = {kModeDocText.data(), kModeDocText.size()}},
    {.name = "processes",
     .value = "N",
     .doc = "Share the devices of the mesh between N processes; same as mesh.processes=N"},
    {.name = "step",
     .value = "N",
     .doc = "With --mode eval: evaluate the checkpoint of step N (default: the newest one)"},
    {.name = "eval-name",
     .value = "NAME",
     .doc = "With --mode continuous_eval: one of several evaluations of a run. Its records are in "
            "continuous_eval-NAME/ of the run's directory"},
    {.name = "profile",
     .value = "steps=A..B",
     .doc = "Time every kernel and layer in steps A to B: tables, and a Chrome trace in profile/ "
            "of the run's directory"},
    {.name = "quiet", .letter = 'q', .doc = "Print warnings and errors only"},
};
inline constexpr auto kRunOptions = with_config_options(kOwnRunOptions);

// `words` are those after `trivet run`. Throws like parse_config_arguments.
ConfigArguments parse_run_arguments(std::span<const std::string> words);

}  // namespace trivet
