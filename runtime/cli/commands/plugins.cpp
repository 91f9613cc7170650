// SPDX-License-Identifier: Apache-2.0
// `trivet plugins`: lists every file in the plugin folders with its state. Loads no library.
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "config/config_arguments.h"
#include "host/plugin_host.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"

namespace trivet {
namespace {

constexpr OptionSpec kPluginsOptions[] = {
    {.name = "json", .doc = "As JSON."},
    kPluginDirOption,
};

std::string directory_text(const SearchDirectory& directory) {
  std::string text = fmt::format("  {} ({})", one_line(directory.path.string()), directory.source);
  if (!directory.error.empty()) return text + ": refused: " + directory.error + "\n";
  return text + (directory.exists ? "\n" : ": does not exist\n");
}

std::string plugin_text(const PluginFile& file) {
  const Manifest& manifest = *file.manifest;
  std::string text = fmt::format("{} {}  {}  {}\n", manifest.name, manifest.version,
                                 manifest.license, enum_name(file.state));
  if (!manifest.doc.empty()) text += fmt::format("  {}\n", one_line(manifest.doc));
  text += fmt::format("  {}\n", one_line(file.path.string()));
  if (!file.reason.empty()) text += fmt::format("  {}\n", one_line(file.reason));
  if (!file.replaces.empty()) {
    text += fmt::format("  replaces the shipped plugin in {}\n", one_line(file.replaces.string()));
  }
  std::map<std::string, std::string> by_kind;
  for (const ManifestItem& item : manifest.items) {
    std::string& keys = by_kind[item.kind];
    keys += (keys.empty() ? "" : ", ") + item.key;
  }
  for (const auto& [kind, keys] : by_kind) text += fmt::format("  {:<12} {}\n", kind, keys);
  return text + "\n";
}

std::string listing(const PluginHost& host) {
  std::string usable, refused, folders;
  for (const PluginFile& file : host.files()) {
    if (file.state == PluginState::refused) {
      refused += fmt::format("  {}: {}\n", one_line(file.path.string()), one_line(file.reason));
    } else {
      usable += plugin_text(file);
    }
  }
  for (const SearchDirectory& directory : host.directories()) folders += directory_text(directory);
  std::string text = usable.empty() ? "No usable plugins.\n\n" : usable;
  if (!refused.empty()) text += "refused:\n" + refused + "\n";
  for (const PluginHost::PassedOver& item : host.passed_over_numbers()) {
    text += fmt::format(
        "warning: a bare number for a {} selects {}; {} accepts numbers, too, but only if its "
        "type is set\n\n",
        item.kind, item.winner, item.key);
  }
  return text + "searched:\n" + folders;
}

Value plugin_row(const PluginFile& file) {
  Value row = Value::table({{"file", file.path.string()}, {"state", enum_name(file.state)}});
  if (!file.reason.empty()) row.set("reason", file.reason);
  if (!file.manifest) return row;
  const Manifest& manifest = *file.manifest;
  row.set("name", manifest.name);
  row.set("version", manifest.version);
  row.set("license", manifest.license);
  row.set("doc", manifest.doc);
  row.set("url", manifest.url);
  row.set("shipped", file.shipped);
  if (!file.replaces.empty()) row.set("replaces", file.replaces.string());
  row.set("sdk", fmt::format("{}.{}", manifest.sdk_major, manifest.sdk_minor));
  Value& abi = row.set("abi", Value::table());
  for (const auto& [name, value] : manifest.abi) abi.set(name, value);
  Value& items = row.set("items", Value::array());
  for (const ManifestItem& item : manifest.items) {
    items.push_back(Value::table({{"kind", item.kind}, {"key", item.key}, {"doc", item.doc}}));
  }
  return row;
}

std::string json_listing(const PluginHost& host) {
  Value folders = Value::array();
  for (const SearchDirectory& directory : host.directories()) {
    Value& folder = folders.push_back(Value::table({{"path", directory.path.string()},
                                                    {"source", directory.source},
                                                    {"exists", directory.exists}}));
    if (!directory.error.empty()) folder.set("refused", directory.error);
  }
  Value plugins = Value::array();
  for (const PluginFile& file : host.files()) plugins.push_back(plugin_row(file));
  return to_json(Value::table({{"folders", std::move(folders)}, {"plugins", std::move(plugins)}}),
                 JsonStyle::indented);
}

int run_plugins(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kPluginsOptions);
  if (!arguments.plain().empty()) {
    throw UsageError("'trivet plugins' takes no argument '" + arguments.plain()[0] + "'",
                     {.hint = "trivet explain KEY describes one item"});
  }
  PluginHost host(plugin_search_path(arguments.all("plugin-dir")));
  host.check_schemas();
  print_out(arguments.has("json") ? json_listing(host) : listing(host));
  return 0;
}

}  // namespace

extern const CommandInfo kPluginsCommand = {
    .name = "plugins",
    .usage = "plugins [--json]",
    .summary = "Lists the plugins with their keys, and the files that were refused",
    .details =
        "Reads the notes in the files and loads no library. 'available' means that trivet loads\n"
        "the plugin if a config names one of its keys.",
    .options = kPluginsOptions,
    .run = &run_plugins,
};

}  // namespace trivet
