// SPDX-License-Identifier: Apache-2.0
#include "cli/plugin_command.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "checkpoint/checkpoint_tools.h"
#include "cli/commands.h"
#include "cli/host_catalog.h"
#include "cli/trained_run.h"
#include "config/config_arguments.h"
#include "config/resolver.h"
#include "trivet/command.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

class Context final : public CommandContext {
 public:
  explicit Context(HostCatalog& catalog) : catalog_(catalog) {}

  Value config(std::span<const std::string> words) override {
    return resolve_config(parse_config_arguments(words, kConfigOptions).request, catalog_).tree;
  }

  std::unique_ptr<TrainedRun> trained(const std::string& run,
                                      std::span<const std::string> overrides) override {
    return open_trained(run, overrides, catalog_);
  }

  void save_checkpoint(const std::filesystem::path& run, std::span<const SafetensorsEntry> model,
                       std::int64_t step) override {
    save_first_checkpoint(run, model, step);
  }

 private:
  HostCatalog& catalog_;
};

// The highest exit code of a process.
constexpr int kHighestCode = 255;

}  // namespace

CommandWords without_plugin_dirs(std::span<const std::string> words) {
  const std::string option = "--" + std::string(kPluginDirOption.name);
  CommandWords result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      result.others.insert(result.others.end(), words.begin() + static_cast<std::ptrdiff_t>(i),
                           words.end());
      break;
    }
    if (words[i].starts_with(option + "=")) {
      result.plugin_dirs.push_back(words[i].substr(option.size() + 1));
    } else if (words[i] == option) {
      if (++i == words.size()) {
        throw UsageError("the required argument for option '" + option + "' is missing");
      }
      result.plugin_dirs.push_back(words[i]);
    } else {
      result.others.push_back(words[i]);
    }
  }
  return result;
}

std::vector<PluginCommand> plugin_commands(const PluginHost& host) {
  std::map<std::string, std::vector<PluginCommand>> by_name;
  for (const PluginFile& file : host.files()) {
    if (file.state != PluginState::available && file.state != PluginState::loaded) continue;
    for (const ManifestItem& item : file.manifest->items) {
      if (item.kind != Command::kKind) continue;
      const std::string name = item.key.substr(item.key.find('/') + 1);
      const bool taken = find_command(name) != nullptr;
      by_name[name].push_back({taken ? item.key : name, item.key, item.doc});
    }
  }
  std::vector<PluginCommand> commands;
  for (auto& [name, same] : by_name) {
    for (PluginCommand& command : same) {
      if (same.size() > 1) command.name = command.key;
      commands.push_back(std::move(command));
    }
  }
  return commands;
}

int run_plugin_command(std::span<const std::string> words) {
  const CommandWords given = without_plugin_dirs(words.subspan(1));
  HostCatalog catalog(given.plugin_dirs, UnknownDefaults::load_plugin);
  const std::vector<PluginCommand> commands = plugin_commands(catalog.host());
  const auto command =
      std::find_if(commands.begin(), commands.end(), [&](const PluginCommand& candidate) {
        return candidate.name == words[0] || candidate.key == words[0];
      });
  if (command == commands.end()) {
    std::string same;
    for (const PluginCommand& candidate : commands) {
      if (!candidate.key.ends_with("/" + words[0])) continue;
      same += (same.empty() ? "" : " or ") + candidate.key;
    }
    if (!same.empty()) {
      throw UsageError("several plugins have a command '" + words[0] + "'",
                       {.hint = "name one of them: " + same});
    }
    throw UsageError("unknown command '" + words[0] + "'",
                     {.hint = command_suggestion(words[0], commands)});
  }
  Context context(catalog);
  const auto object = make(ConfigOf<Command>(command->key, Value::table()), context);
  int code = 0;
  // A wrong command line is the user's, not the plugin's.
  std::optional<UsageError> wrong;
  Registry::guard(*registry().find(Command::kKind, command->key), {}, {}, [&] {
    try {
      code = object->run(given.others);
    } catch (const UsageError& error) {
      wrong = error;
    }
  });
  if (wrong) throw UsageError(*wrong);
  if (code < 0 || code > kHighestCode) {
    throw PluginError(
        fmt::format("ended with the exit code {}; there are 0 to {}", code, kHighestCode),
        {.plugin = std::string(plugin_of(command->key)), .key = command->key});
  }
  return code;
}

}  // namespace trivet
