// SPDX-License-Identifier: Apache-2.0
// trivet schema [KIND|KEY]
#include <algorithm>
#include <cstdio>

#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "config/config_arguments.h"
#include "config/json_schema.h"
#include "config/resolver.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kSchemaOptions[] = {
    kPluginDirOption,
};

int run_schema(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kSchemaOptions);
  const std::vector<std::string> subjects = arguments.plain();
  if (subjects.size() > 1) throw UsageError("'trivet schema' takes one kind or key");
  HostCatalog catalog(arguments.all("plugin-dir"));
  catalog.host().check_schemas();
  for (const PluginFile& file : catalog.host().files()) {
    if (file.state != PluginState::refused || !file.manifest) continue;
    std::fputs(
        printable("warning: " + file.path.string() + " is skipped: " + file.reason + "\n").c_str(),
        stderr);
  }
  if (subjects.empty()) {
    print_out(config_json_schema(launch_file_schema(), catalog));
    return 0;
  }
  const std::vector<std::string> kinds = catalog.kinds_of({});
  const std::string& subject = subjects[0];
  if (subject.find('/') != std::string::npos) {
    print_out(type_json_schema(subject, catalog));
  } else if (std::find(kinds.begin(), kinds.end(), subject) != kinds.end()) {
    print_out(kind_json_schema(subject, catalog));
  } else {
    throw UsageError("unknown kind '" + subject + "'", {.hint = suggestion(subject, kinds)});
  }
  return 0;
}

}  // namespace

extern const CommandInfo kSchemaCommand{
    .name = "schema",
    .usage = "schema [KIND|KEY]",
    .summary = "Prints a JSON Schema of config files, for editors",
    .details =
        "  trivet schema > trivet.schema.json      then, in the first line of a config:\n"
        "  #:schema trivet.schema.json\n"
        "\n"
        "With a kind (layer) or a key (nn/Linear) it prints the schema of that kind or key.\n"
        "These check for required keys; the schema of config files does not, because a base\n"
        "file may set them.",
    .options = kSchemaOptions,
    .operand = Operand::kind_or_key,
    .run = run_schema,
};

}  // namespace trivet
