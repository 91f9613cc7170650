// SPDX-License-Identifier: Apache-2.0
// trivet __complete -- WORD ...: prints the completions of the last word for the shells' scripts,
// one candidate a line. ":files" asks the shell to complete file names. Reads the notes of plugins
// and loads none.
#include <algorithm>
#include <optional>

#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/host_catalog.h"
#include "config/config_arguments.h"
#include "config/overrides/apply_overrides.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"
#include "trivet/experiment.h"

namespace trivet {
namespace {

using Form = FieldType::Form;
using Words = std::vector<std::string>;

class Completer {
 public:
  explicit Completer(Words words) : words_(std::move(words)) {
    if (words_.empty()) words_.emplace_back();
  }

  Words complete() {
    if (words_.size() == 1) {
      offer_commands();
    } else if (const CommandInfo* command = find_command(words_[0])) {
      complete_for(*command);
    } else if (is_plugin_command()) {
      candidates_.emplace_back(":files");
    }
    return std::move(candidates_);
  }

 private:
  const std::string& last() const { return words_.back(); }

  void offer(const std::string& candidate) {
    if (candidate.starts_with(last())) candidates_.push_back(candidate);
  }

  void offer_commands() {
    for (const CommandInfo* command : commands()) {
      if (!command->summary.empty()) offer(std::string(command->name));
    }
    for (const PluginCommand& command : plugin_commands(catalog().host())) offer(command.name);
    offer("--help");
    offer("--version");
  }

  bool is_plugin_command() {
    const auto commands = plugin_commands(catalog().host());
    return std::any_of(commands.begin(), commands.end(), [&](const PluginCommand& command) {
      return command.name == words_[0] || command.key == words_[0];
    });
  }

  void complete_for(const CommandInfo& command) {
    if (last().starts_with('-') && !last().starts_with("--cfg.") && !last().starts_with("--xp.")) {
      for (const OptionSpec& option : command.options) offer("--" + std::string(option.name));
      offer("--help");
      return;
    }
    const OptionSpec* option = option_before(command);
    if (option != nullptr) return complete_value(*option);
    switch (command.operand) {
      case Operand::none:
        return;
      case Operand::path:
        candidates_.emplace_back(":files");
        return;
      case Operand::shell:
        offer("bash"), offer("zsh");
        return;
      case Operand::command:
        return offer_commands();
      case Operand::config:
        return complete_config(command);
      case Operand::key_or_path:
      case Operand::kind_or_key:
        return offer_keys(command.operand == Operand::key_or_path);
    }
  }

  // The option whose value is being typed.
  const OptionSpec* option_before(const CommandInfo& command) const {
    const std::string& before = words_[words_.size() - 2];
    if (!before.starts_with("--") || before.find('=') != std::string::npos) return nullptr;
    const OptionSpec* option = find_option(command.options, before.substr(2));
    return option != nullptr && !option->value.empty() ? option : nullptr;
  }

  void complete_value(const OptionSpec& option) {
    if (option.name == "set") return complete_override(config_before(), last(), {});
    if (option.name == "mode") {
      for (const std::string_view mode : enum_names<Mode>()) offer(std::string(mode));
    } else if (option.name == "format") {
      offer("toml"), offer("json");
    } else if (option.name == "experiment") {
      for (const std::string& key : catalog().keys("experiment")) offer(key);
    } else {
      candidates_.emplace_back(":files");
    }
  }

  void offer_keys(bool paths) {
    for (const std::string& kind : catalog().kinds_of({})) {
      offer(kind);
      for (const std::string& key : catalog().keys(kind)) offer(key);
    }
    if (paths) complete_override(Value::table(), last(), {});
  }

  void complete_config(const CommandInfo& command) {
    const bool subcommand = command.name == "config";
    if (subcommand && words_.size() == 2) return offer("show");
    if (words_.size() == (subcommand ? 3u : 2u)) {
      candidates_.emplace_back(":files");
      return;
    }
    std::string prefix;
    for (const char* known : {"--cfg.", "--xp.", "+", "~"}) {
      if (last().starts_with(known)) prefix = known;
    }
    std::string text = last().substr(prefix.size());
    if (prefix == "--xp.") text = "xp." + text;
    complete_override(config_before(), text, prefix);
  }

  // The config without the last word. Empty if it cannot be read.
  Value config_before() {
    try {
      const CommandInfo* command = find_command(words_[0]);
      std::span<const std::string> rest(words_.begin() + 1, words_.end() - 1);
      if (command->name == "config" && !rest.empty()) rest = rest.subspan(1);
      if (!rest.empty() && rest.back() == "--set") rest = rest.first(rest.size() - 1);
      ConfigArguments given = parse_config_arguments(rest, command->options);
      // Loading a plugin for its experiment takes too long for a keystroke.
      given.request.load_experiments = false;
      Diagnostics ignored;
      return draft_config(given.request, catalog(), ignored);
    } catch (const Error&) {
      return Value::table();
    }
  }

  void complete_override(const Value& root, const std::string& text, const std::string& prefix) {
    const TypedTree tree(launch_file_schema(), catalog().schemas());
    const std::size_t equals = text.find('=');
    const std::string path = text.substr(0, equals);
    const std::size_t cut = equals == std::string::npos ? path.find_last_of('.') : path.size();
    Value location = root;
    SchemaNode node = tree.root();
    const std::string parent = cut == std::string::npos ? "" : path.substr(0, cut);
    for (const PathStep& step : split_path(parent)) {
      SchemaNode inner =
          step.index < 0 ? tree.child(location, node, step.name) : tree.element(node);
      const Value* value = location.find_path(
          step.index < 0 ? joined_path("", step.name)
                         : joined_path("", static_cast<std::size_t>(step.index)));
      Value next = value != nullptr ? *value : Value();
      location = std::move(next);
      node = inner;
    }
    // The words after --xp. are paths below [xp], shown without the prefix.
    const auto present = [&](const std::string& candidate) {
      return prefix + (prefix == "--xp." ? candidate.substr(3) : candidate);
    };
    if (equals != std::string::npos) {
      for (const std::string& value : values(location, node)) offer(present(path + "=" + value));
      return;
    }
    offer_children(tree, location, node, parent, present);
  }

  template <class Present>
  void offer_children(const TypedTree& tree, const Value& location, const SchemaNode& node,
                      const std::string& parent, const Present& present) {
    Words names;
    if (const std::vector<Field>* fields = tree.fields(location, node)) {
      for (const Field& field : *fields) names.push_back(field.name);
    }
    if (location.is_table()) {
      for (const Value::Member& member : location.members()) {
        if (std::find(names.begin(), names.end(), member.key) == names.end()) {
          names.push_back(member.key);
        }
      }
    }
    if (node.is_config() && std::find(names.begin(), names.end(), "type") == names.end()) {
      names.emplace_back("type");
    }
    for (const std::string& name : names) {
      if (parent.empty() && (name == "experiment" || name == "base")) continue;
      const SchemaNode inner = tree.child(location, node, name);
      const std::string path = joined_path(parent, name);
      const Form form = inner.type != nullptr ? inner.type->form : Form::string;
      const bool deeper = form == Form::table || form == Form::config || form == Form::map;
      if (!deeper || form == Form::config) offer(present(path + "="));
      if (deeper) offer(present(path + "."));
    }
  }

  Words values(const Value& location, const SchemaNode& node) {
    if (node.type == nullptr) return {};
    switch (node.type->form) {
      case Form::boolean:
        return {"true", "false"};
      case Form::config: {
        Words keys = catalog().keys(node.type->kind);
        keys.emplace_back("none");
        return keys;
      }
      default:
        break;
    }
    if (node.field != nullptr && node.field->name == "backend") return catalog().keys("backend");
    if (!node.type->choices.empty()) return node.type->choices;
    if (location.is_null() || location.is_table() || location.is_array()) return {};
    return {location.is_string() ? location.as_string() : to_toml(location)};
  }

  HostCatalog& catalog() {
    if (!catalog_) catalog_.emplace(plugin_dirs());
    return *catalog_;
  }

  Words plugin_dirs() const {
    Words folders;
    for (std::size_t i = 0; i + 2 < words_.size(); ++i) {
      if (words_[i] == "--plugin-dir") folders.push_back(words_[i + 1]);
    }
    return folders;
  }

  Words words_;
  Words candidates_;
  std::optional<HostCatalog> catalog_;
};

int run_complete(std::span<const std::string> words) {
  if (!words.empty() && words[0] == "--") words = words.subspan(1);
  try {
    for (const std::string& candidate : Completer({words.begin(), words.end()}).complete()) {
      print_out(candidate + "\n");
    }
  } catch (const Error&) {
    // A shell cannot show messages, so an error gives no candidates.
    return 1;
  }
  return 0;
}

}  // namespace

extern const CommandInfo kCompleteCommand{
    .name = "__complete",
    .usage = "__complete -- WORD ...",
    .summary = {},
    .details = {},
    .options = {},
    .operand = Operand::none,
    .run = run_complete,
};

}  // namespace trivet
