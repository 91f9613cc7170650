// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment_command.h"

#include "base/terminal.h"
#include "cli/host_catalog.h"
#include "launch/control/unit_actions.h"
#include "launch/store/experiment_id.h"
#include "launch/store/experiment_store.h"
#include "trivet/error.h"

namespace trivet {

std::vector<std::string> absolute_folders(std::vector<std::string> folders) {
  for (std::string& folder : folders) {
    folder = std::filesystem::absolute(folder).lexically_normal().string();
  }
  return folders;
}

std::vector<std::string> with_recorded_plugin_dirs(std::vector<std::string> given,
                                                   const std::filesystem::path& experiment) {
  const std::vector<std::string> recorded = recorded_plugin_dirs(experiment_facts(experiment));
  given.insert(given.end(), recorded.begin(), recorded.end());
  return given;
}

int run_on_experiments(std::span<const std::string> words, const std::string& command,
                       const std::function<std::string(LaunchedExperiment&,
                                                       const std::optional<std::int64_t>&)>& act) {
  const Arguments arguments = parse_arguments(words, kExperimentOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.empty()) {
    throw UsageError("'trivet " + command + "' takes an ID",
                     {.hint = "'trivet status' lists them"});
  }
  const std::vector<std::string> plugin_dirs = absolute_folders(arguments.all("plugin-dir"));
  const auto root = experiments_root(arguments.last("root"));
  std::vector<ExperimentId> ids;
  for (const std::string& text : plain) ids.push_back(find_experiment(text, root));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].job) {
      throw UsageError("'trivet " + command + "' works on whole units: " + plain[i],
                       {.hint = "leave the job's name out"});
    }
    HostCatalog catalog(with_recorded_plugin_dirs(plugin_dirs, ids[i].directory),
                        UnknownDefaults::load_plugin);
    LaunchedExperiment experiment(ids[i].directory, catalog, plugin_dirs);
    print_out(act(experiment, ids[i].wid));
  }
  return 0;
}

}  // namespace trivet
