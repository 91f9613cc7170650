// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment_command.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/host_catalog.h"
#include "launch/control/unit_control.h"
#include "launch/store/experiment_id.h"
#include "launch/store/experiment_store.h"
#include "trivet/error.h"

namespace trivet {
namespace {

using Choice = std::pair<std::filesystem::path, UnitChoice>;

// An orchestrator ends fifty units at once much faster than one by one.
std::vector<Choice> chosen_experiments(const std::vector<std::string>& texts,
                                       const std::string& command,
                                       const std::filesystem::path& root) {
  std::vector<Choice> choices;
  for (const std::string& text : texts) {
    const ExperimentId id = find_experiment(text, root);
    if (id.job) {
      throw UsageError("'trivet " + command + "' takes whole units, not jobs: " + text,
                       {.hint = "omit the job's name"});
    }
    auto choice = std::find_if(choices.begin(), choices.end(),
                               [&](const Choice& one) { return one.first == id.directory; });
    if (choice == choices.end()) {
      choice = choices.insert(choice, {id.directory, std::set<std::int64_t>()});
    }
    if (!id.wid) choice->second.reset();
    if (choice->second) choice->second->insert(*id.wid);
  }
  return choices;
}

}  // namespace

std::vector<std::string> absolute_folders(std::vector<std::string> folders) {
  for (std::string& folder : folders) {
    folder = std::filesystem::absolute(folder).lexically_normal().string();
  }
  return folders;
}

std::vector<std::string> with_recorded_plugin_dirs(std::vector<std::string> given,
                                                   const std::filesystem::path& experiment) {
  for (std::string& folder : recorded_plugin_dirs(experiment_facts(experiment))) {
    // Not an error: what needs a plugin of the folder names the plugin, which helps more.
    std::error_code ignored;
    static std::set<std::string> told;  // a command that watches asks again and again
    if (std::filesystem::exists(folder, ignored)) {
      given.push_back(std::move(folder));
    } else if (told.insert(folder).second) {
      fmt::print(stderr,
                 "trivet: the plugin folder {} of {} does not exist; --plugin-dir takes another\n",
                 printable(folder), printable(experiment.string()));
    }
  }
  return given;
}

int run_on_experiments(
    std::span<const std::string> words, const std::string& command,
    const std::function<std::string(LaunchedExperiment&, const UnitChoice&)>& act) {
  const Arguments arguments = parse_arguments(words, kExperimentOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.empty()) {
    throw UsageError("'trivet " + command + "' takes an ID",
                     {.hint = "'trivet status' lists them"});
  }
  const std::vector<std::string> plugin_dirs = absolute_folders(arguments.all("plugin-dir"));
  for (const auto& [directory, chosen] :
       chosen_experiments(plain, command, experiments_root(arguments.last("root")))) {
    HostCatalog catalog(with_recorded_plugin_dirs(plugin_dirs, directory),
                        UnknownDefaults::load_plugin);
    LaunchedExperiment experiment(directory, catalog, plugin_dirs);
    print_out(act(experiment, chosen));
  }
  return 0;
}

}  // namespace trivet
