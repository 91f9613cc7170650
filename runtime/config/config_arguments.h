// SPDX-License-Identifier: Apache-2.0
//
// CONFIG [K=V ...] and the options around it, the same for every command that takes a config.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "config/resolver.h"
#include "trivet/config/arguments.h"

namespace trivet {

inline constexpr OptionSpec kPluginDirOption{.name = "plugin-dir",
                                             .value = "DIR",
                                             .doc = "A folder to search for plugins first",
                                             .repeatable = true};

inline constexpr OptionSpec kRootOption{
    .name = "root",
    .value = "DIR",
    .doc = "The directory of the experiments; default: TRIVET_ROOT, else runs"};

inline constexpr std::array kConfigOptions{
    OptionSpec{.name = "cfg", .value = "FILE", .doc = "The same as CONFIG"},
    OptionSpec{.name = "set",
               .value = "K=V",
               .doc = "The same as K=V; --cfg.K=V too, and --xp.K=V for [xp]",
               .repeatable = true},
    OptionSpec{.name = "config_file",
               .value = "FILE",
               .doc = "A further config above the first",
               .repeatable = true},
    OptionSpec{.name = "experiment",
               .value = "KEY",
               .doc = "Start from this registered experiment, plugin/name"},
    OptionSpec{.name = "params_override",
               .value = "TEXT",
               .doc = "k=v, k=v pairs, JSON text or a config file: above all files, below K=V"},
    kPluginDirOption,
};

// The options of a command: its own, then those for configs.
template <std::size_t N>
constexpr auto with_config_options(const OptionSpec (&own)[N]) {
  std::array<OptionSpec, N + kConfigOptions.size()> all{};
  std::size_t at = 0;
  for (const OptionSpec& option : own) all[at++] = option;
  for (const OptionSpec& option : kConfigOptions) all[at++] = option;
  return all;
}

struct ConfigArguments {
  Arguments arguments;
  ConfigRequest request;
  std::vector<std::string> plugin_dirs;
  std::string source;  // the config file, or the experiment when there is none
};

enum class ConfigNeed { required, optional };

// Throws UsageError, also when there is neither a config nor an experiment but needs to be.
ConfigArguments parse_config_arguments(std::span<const std::string> words,
                                       std::span<const OptionSpec> options,
                                       ConfigNeed need = ConfigNeed::required);

// An option that stands for an override: --mode eval is mode=eval, and wins over those given.
void add_override(ConfigArguments& arguments, const std::string& option, const std::string& path);

}  // namespace trivet
