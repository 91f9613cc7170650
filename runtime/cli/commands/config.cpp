// SPDX-License-Identifier: Apache-2.0
// trivet config show CONFIG [K=V ...]
#include "base/terminal.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "config/config_arguments.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kOwnConfigCommandOptions[] = {
    {.name = "origin", .doc = "Add a comment to each value: the file and line that set it"},
    {.name = "format", .value = "FORMAT", .doc = "toml (the default) or json"},
};
constexpr auto kConfigCommandOptions = with_config_options(kOwnConfigCommandOptions);

int run_config(std::span<const std::string> words) {
  if (words.empty() || words[0] != "show") {
    throw UsageError(words.empty() ? "'trivet config' needs an action"
                                   : "'trivet config' has no action '" + words[0] + "'",
                     {.hint = "trivet config show CONFIG"});
  }
  const ConfigArguments given = parse_config_arguments(words.subspan(1), kConfigCommandOptions);
  const std::string* format = given.arguments.last("format");
  if (format != nullptr && *format != "toml" && *format != "json") {
    throw UsageError("unknown format '" + *format + "'", {.hint = "known: toml, json"});
  }
  const bool json = format != nullptr && *format == "json";
  const bool origins = given.arguments.has("origin");
  if (json && origins) throw UsageError("JSON has no comments: --origin is for --format toml");
  HostCatalog catalog(given.plugin_dirs, UnknownDefaults::load_plugin);
  const ResolvedConfig config = resolve_config(given.request, catalog);
  print_out(json ? to_json(config.tree, JsonStyle::indented)
                 : config_text(config, {.origins = origins}));
  return 0;
}

}  // namespace

extern const CommandInfo kConfigCommand{
    .name = "config",
    .usage = "config show CONFIG [K=V ...]",
    .summary = "Prints a config as a run would use it: complete, references resolved",
    .details = "The output is a config that gives the same run.",
    .options = kConfigCommandOptions,
    .operand = Operand::config,
    .run = run_config,
};

}  // namespace trivet
