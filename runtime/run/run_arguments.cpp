// SPDX-License-Identifier: Apache-2.0
#include "run/run_arguments.h"

namespace trivet {

ConfigArguments parse_run_arguments(std::span<const std::string> words) {
  ConfigArguments given = parse_config_arguments(words, kRunOptions);
  add_override(given, "mode", "mode");
  add_override(given, "processes", "mesh.processes");
  return given;
}

}  // namespace trivet
