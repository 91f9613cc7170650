// SPDX-License-Identifier: Apache-2.0
// trivet experiments: lists the names for --experiment from notes and files. Loads no library.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "config/config_arguments.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kExperimentsOptions[] = {
    {.name = "json", .doc = "As JSON."},
    kPluginDirOption,
};

struct Entry {
  std::string key;
  std::string doc;
  std::string file;   // of the config, or the plugin's library
  std::string error;  // why it cannot be used
};

std::vector<Entry> registered_entries(PluginHost& host) {
  std::vector<Entry> entries;
  for (const PluginFile& file : host.files()) {
    if (file.state != PluginState::available && file.state != PluginState::loaded) continue;
    for (const ManifestItem& item : file.manifest->items) {
      if (item.kind == "experiment") entries.push_back({item.key, item.doc, file.path, {}});
    }
  }
  return entries;
}

std::vector<Entry> all_entries(HostCatalog& catalog) {
  std::vector<Entry> entries = registered_entries(catalog.host());
  std::map<std::string, std::string> libraries;
  for (const Entry& entry : entries) libraries[entry.key] = entry.file;
  for (const ExperimentFile& file : catalog.experiment_files()) {
    Entry entry{file.key, experiment_doc(file.path), file.path, file.error};
    const auto other = libraries.find(file.key);
    if (other != libraries.end()) {
      entry.error = "two experiments have this name: " + other->second + " registers the other";
    }
    entries.push_back(std::move(entry));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.key < b.key; });
  return entries;
}

std::string listing(const std::vector<Entry>& entries) {
  std::string text, refused;
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, entry.key.size());
  for (const Entry& entry : entries) {
    if (!entry.error.empty()) {
      refused += fmt::format("  {}: {}\n", entry.file, entry.error);
      continue;
    }
    text += fmt::format("{:<{}}  {}\n", entry.key, width, entry.doc);
  }
  if (text.empty()) {
    text = "No experiments. 'trivet plugins' lists the folders that were searched.\n";
  }
  if (!refused.empty()) text += "\nrefused:\n" + refused;
  return printable(text);
}

std::string json_listing(const std::vector<Entry>& entries) {
  Value list = Value::array();
  for (const Entry& entry : entries) {
    Value& row = list.push_back(
        Value::table({{"key", entry.key}, {"doc", entry.doc}, {"file", entry.file}}));
    if (!entry.error.empty()) row.set("refused", entry.error);
  }
  return to_json(list, JsonStyle::indented);
}

int run_experiments(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kExperimentsOptions);
  if (!arguments.plain().empty()) {
    throw UsageError("'trivet experiments' takes no argument '" + arguments.plain()[0] + "'",
                     {.hint = "trivet config show --experiment KEY shows one"});
  }
  HostCatalog catalog(arguments.all("plugin-dir"));
  const std::vector<Entry> entries = all_entries(catalog);
  print_out(arguments.has("json") ? json_listing(entries) : listing(entries));
  return 0;
}

}  // namespace

extern const CommandInfo kExperimentsCommand{
    .name = "experiments",
    .usage = "experiments [--json]",
    .summary = "Lists the experiments that --experiment can name",
    .details =
        "  trivet run --experiment vision/mnist_local --workdir DIR\n"
        "\n"
        "Plugins register experiments. A file PLUGIN_DIR/NAME/configs/X.toml next to the plugin\n"
        "NAME is the experiment NAME/X.",
    .options = kExperimentsOptions,
    .run = run_experiments,
};

}  // namespace trivet
