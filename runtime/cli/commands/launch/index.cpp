// SPDX-License-Identifier: Apache-2.0
// trivet index rebuild: rebuilds the index of experiments from their files.
#include <fmt/core.h>

#include "base/terminal.h"
#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "launch/index/experiment_index.h"
#include "launch/store/experiment_id.h"
#include "trivet/error.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

constexpr OptionSpec kIndexOptions[] = {kRootOption};

int run_index(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kIndexOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() != 1 || plain[0] != "rebuild") {
    throw UsageError("'trivet index' takes one word: rebuild");
  }
  const std::filesystem::path root = experiments_root(arguments.last("root"));
  std::error_code ignored;
  if (arguments.has("root") && !std::filesystem::is_directory(root, ignored)) {
    throw UsageError(fmt::format("--root {} is not a directory", root.string()));
  }
  ExperimentIndex index(root);
  index.rebuild();
  std::int64_t experiments = 0, units = 0;
  for (const ExperimentView& view : index.experiments()) {
    ++experiments;
    units += view.unit_count();
  }
  print_out(fmt::format("{}, {}\n", count_of(experiments, "experiment"),
                        units_text(static_cast<std::size_t>(units))));
  return 0;
}

}  // namespace

extern const CommandInfo kIndexCommand{
    .name = "index",
    .usage = "index rebuild",
    .summary = "Rebuilds the index of experiments from their files",
    .details =
        "The index, ROOT/.trivet/index.sqlite, makes listings fast. It contains only data from\n"
        "the files of experiments. Every command that reads it updates it first and replaces it\n"
        "if it is damaged. It can be deleted at any time.",
    .options = kIndexOptions,
    .run = run_index,
};

}  // namespace trivet
