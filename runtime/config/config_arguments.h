// SPDX-License-Identifier: Apache-2.0
// CONFIG [K=V ...] and its options, shared by all commands that take a config.
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
                                             .doc = "Folder to search first for plugins",
                                             .repeatable = true};

inline constexpr OptionSpec kRootOption{
    .name = "root",
    .value = "DIR",
    .doc = "Directory of the experiments; default: TRIVET_ROOT, else runs"};

inline constexpr std::array kConfigOptions{
    OptionSpec{.name = "cfg", .value = "FILE", .doc = "Same as CONFIG"},
    OptionSpec{.name = "set",
               .value = "K=V",
               .doc = "Same as K=V; also --cfg.K=V, and --xp.K=V for [xp]",
               .repeatable = true},
    OptionSpec{.name = "config_file",
               .value = "FILE",
               .doc = "Merge another config file over the first",
               .repeatable = true},
    OptionSpec{.name = "experiment",
               .value = "KEY",
               .doc = "Start from this registered experiment, plugin/name"},
    OptionSpec{
        .name = "params_override",
        .value = "TEXT",
        .doc = "k=v, k=v pairs, JSON text or a config file. Overrides all files; K=V overrides it"},
    kPluginDirOption,
};

// The options of a command, followed by those for configs.
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
  std::string source;  // the config file, or the experiment if there is none
};

enum class ConfigNeed { required, optional };

// Throws UsageError, also if a required config or experiment is missing.
ConfigArguments parse_config_arguments(std::span<const std::string> words,
                                       std::span<const OptionSpec> options,
                                       ConfigNeed need = ConfigNeed::required);

// An option that is an override: --mode eval is mode=eval and replaces given overrides.
void add_override(ConfigArguments& arguments, const std::string& option, const std::string& path);

}  // namespace trivet
