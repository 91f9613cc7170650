// SPDX-License-Identifier: Apache-2.0
// trivet supervise XP_DIR: `trivet launch` starts it in the background.
#include <fcntl.h>

#include <charconv>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "config/config_arguments.h"
#include "launch/control/supervisor_process.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

constexpr OptionSpec kSuperviseOptions[] = {
    kPluginDirOption,
    {.name = "ready",
     .value = "FD",
     .doc = "File descriptor to close once the supervisor is running"},
};

// Child processes must not inherit it.
UniqueFd ready_file(const std::string* number) {
  if (number == nullptr) return {};
  int fd = -1;
  const char* end = number->data() + number->size();
  const auto [stop, error] = std::from_chars(number->data(), end, fd);
  if (error != std::errc() || stop != end || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    throw UsageError("--ready is not an open file descriptor: '" + *number + "'");
  }
  return UniqueFd(fd);
}

int run_supervise(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kSuperviseOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() != 1) throw UsageError("'trivet supervise' takes an experiment's directory");
  UniqueFd ready = ready_file(arguments.last("ready"));
  HostCatalog catalog(arguments.all("plugin-dir"), UnknownDefaults::load_plugin);
  supervise(plain[0], catalog, std::move(ready));
  return 0;
}

}  // namespace

extern const CommandInfo kSuperviseCommand{
    .name = "supervise",
    .usage = "supervise XP_DIR",
    .summary = "",  // internal: not in the overview
    .details = "Supervises an experiment's units until all have ended; 'trivet launch' starts it.",
    .options = kSuperviseOptions,
    .operand = Operand::path,
    .run = run_supervise,
};

}  // namespace trivet
