// SPDX-License-Identifier: Apache-2.0
//
// The words of `trivet run`, for the command and for those who start it in another process and must
// know before what it makes of them.
#pragma once

#include <span>
#include <string>

#include "config/config_arguments.h"
#include "trivet/config/arguments.h"

namespace trivet {

inline constexpr OptionSpec kOwnRunOptions[] = {
    {.name = "workdir",
     .letter = 'w',
     .value = "DIR",
     .doc = "The run's directory; what it holds is continued. Default: the next ROOT/N-NAME",
     .other_names = "model_dir job_log_dir"},
    kRootOption,
    {.name = "mode",
     .value = "MODE",
     .doc = "train, eval, train_and_eval, train_and_post_eval, continuous_eval or "
            "continuous_train_and_eval; the same as mode=MODE"},
    {.name = "step",
     .value = "N",
     .doc = "Mode eval: evaluate the checkpoint of step N. Default: the newest one"},
    {.name = "quiet", .letter = 'q', .doc = "Print warnings and errors only"},
};
inline constexpr auto kRunOptions = with_config_options(kOwnRunOptions);

// `words` are those behind `trivet run`. Throws as parse_config_arguments does.
ConfigArguments parse_run_arguments(std::span<const std::string> words);

}  // namespace trivet
