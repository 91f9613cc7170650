// SPDX-License-Identifier: Apache-2.0
//
// trivet supervise XP_DIR: what `trivet launch` starts in the background.
#include <span>
#include <string>

#include "cli/commands.h"
#include "cli/config_arguments.h"
#include "cli/host_catalog.h"
#include "launch/supervisor.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kSuperviseOptions[] = {kPluginDirOption};

int run_supervise(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kSuperviseOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() != 1) throw UsageError("'trivet supervise' takes an experiment's directory");
  HostCatalog catalog(arguments.all("plugin-dir"), UnknownDefaults::load_plugin);
  supervise(plain[0], catalog);
  return 0;
}

}  // namespace

const CommandInfo kSuperviseCommand{
    .name = "supervise",
    .usage = "supervise XP_DIR",
    .summary = "",  // nobody calls it by hand, so the overview does not list it
    .details = "Works on an experiment's units until all have ended; 'trivet launch' starts it.",
    .options = kSuperviseOptions,
    .operand = Operand::path,
    .run = run_supervise,
};

}  // namespace trivet
