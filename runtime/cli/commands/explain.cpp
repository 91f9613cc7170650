// SPDX-License-Identifier: Apache-2.0
// `trivet explain`: explains a key or a field of a config from the notes of plugins. Loads no
// library unless a config is given, then those that the config names.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "cli/view/explain_value.h"
#include "cli/view/field_text.h"
#include "cli/view/reference_text.h"
#include "config/config_arguments.h"
#include "config/file_schema.h"
#include "host/plugin_host.h"
#include "trivet/config.h"
#include "trivet/config/enums.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

constexpr OptionSpec kOwnExplainOptions[] = {
    {.name = "config",
     .value = "FILE",
     .doc = "Explain PATH in this config, with its value and the line that sets it"},
    {.name = "markdown",
     .doc = "Print Markdown for KEY or all items of PLUGIN or KIND; without one, for a config"},
};
constexpr auto kExplainOptions = with_config_options(kOwnExplainOptions);

class Explainer {
 public:
  explicit Explainer(const std::vector<std::string>& plugin_dirs,
                     UnknownDefaults unknown = UnknownDefaults::leave)
      : catalog_(plugin_dirs, unknown), host_(catalog_.host()), lookup_(catalog_.schemas()) {}

  std::string explain(const std::string& subject) {
    if (subject.find('/') != std::string::npos) return explain_key(subject);
    if (const std::string text = explain_plugin(subject); !text.empty()) return text;
    if (const std::vector<std::string> keys = catalog_.keys(subject); !keys.empty()) {
      std::string text = fmt::format("Items of the kind '{}':\n", subject);
      for (const std::string& key : keys) text += "  " + key + "\n";
      return text;
    }
    return explain_path(subject);
  }

  // The page of a key, or of all items of a plugin or kind.
  std::string reference(const std::string& subject) {
    std::vector<std::string> keys = {subject};
    if (subject.find('/') == std::string::npos) keys = catalog_.keys({});
    std::map<std::pair<std::string, std::string>, std::string> items;  // by kind and key
    for (const std::string& key : keys) {
      for (const ManifestItem& item : items_of(key)) {
        if (key != subject && item.kind != subject && !key.starts_with(subject + "/")) continue;
        Diagnostics diagnostics;
        const Schema* schema = lookup_.find(item.kind, item.key, {}, {}, diagnostics);
        items[{item.kind, item.key}] = item_reference(item, schema);
      }
    }
    if (items.empty()) {
      throw UsageError("no key, plugin or kind is named '" + subject + "'",
                       {.hint = "trivet plugins lists them; " + host_.searched()});
    }
    std::string text;
    for (const auto& [key, item] : items) text += item;
    return reference_page(subject, text);
  }

 private:
  // Items of plugins and of the program itself.
  std::vector<ManifestItem> items_of(const std::string& key) {
    std::vector<ManifestItem> items = host_.items(key);
    if (!items.empty()) return items;
    for (const RegistryItem* item : registry().items()) {
      if (item->key != key) continue;
      items.push_back({item->kind, item->key, item->doc, item->scalar_shorthand, {}});
    }
    return items;
  }

  std::string explain_key(const std::string& key) {
    std::string text;
    for (const ManifestItem& item : items_of(key)) {
      text += fmt::format("{} ({})\n", item.key, item.kind);
      if (!item.doc.empty()) text += fmt::format("  {}\n", item.doc);
      if (!item.scalar_shorthand.empty()) {
        text += fmt::format("  A bare number selects it and sets '{}'.\n", item.scalar_shorthand);
      }
      Diagnostics diagnostics;
      const Schema* schema = lookup_.find(item.kind, item.key, {}, {}, diagnostics);
      text += "\n" + (schema != nullptr ? fields_text(*schema) : "") + "\n";
    }
    if (!text.empty()) return text + origin_text(key);
    for (const ExperimentFile& file : catalog_.experiment_files()) {
      if (file.key == key) return experiment_text(file);
    }
    const std::string plugin(plugin_of(key));
    if (const std::string refusal = host_.refusal(plugin); !refusal.empty()) {
      throw PluginError("the plugin cannot be used: " + refusal, {.plugin = plugin, .key = key});
    }
    throw UsageError("unknown key '" + key + "'",
                     {.hint = suggestion(key, catalog_.keys({})) + "; " + host_.searched()});
  }

  static std::string experiment_text(const ExperimentFile& file) {
    if (!file.error.empty()) {
      return fmt::format("{} is refused: {}\n", file.path.string(), file.error);
    }
    return fmt::format("{} (experiment)\n  {}\n\nFrom {}\n", file.key, experiment_doc(file.path),
                       file.path.string());
  }

  std::string origin_text(const std::string& key) {
    for (const PluginFile& file : host_.files()) {
      const bool usable = file.state == PluginState::available || file.state == PluginState::loaded;
      if (!usable || file.manifest->name != plugin_of(key)) continue;
      return fmt::format("From {} {} ({}), {}\n", file.manifest->name, file.manifest->version,
                         file.manifest->license, file.path.string());
    }
    return "Part of the program\n";
  }

  std::string explain_plugin(const std::string& name) {
    for (const PluginFile& file : host_.files()) {
      if (file.name() != name || file.state == PluginState::shadowed) continue;
      if (!file.manifest) {
        return fmt::format("{} is refused: {}\n", file.path.string(), file.reason);
      }
      std::string text = fmt::format("{} {} ({}), {}\n", name, file.manifest->version,
                                     file.manifest->license, enum_name(file.state));
      if (!file.manifest->doc.empty()) text += "  " + file.manifest->doc + "\n";
      if (!file.reason.empty()) text += "  " + file.reason + "\n";
      for (const ManifestItem& item : file.manifest->items) {
        text += fmt::format("\n  {} ({})\n      {}", item.key, item.kind, item.doc);
      }
      return text + "\n";
    }
    return {};
  }

  // A dotted path in the config of an experiment. Below a ConfigOf, the path refers to its default
  // type.
  std::string explain_path(const std::string& path) {
    std::vector<Field> fields = launch_file_schema().fields;
    const Field* found = nullptr;
    Field at;
    std::string walked;
    for (const PathStep& step : steps_of(path)) {
      if (step.index >= 0) continue;
      if (found != nullptr && at.type.form == FieldType::Form::map) {
        at = named_element(at, step.name);
        walked = joined_path(walked, step.name);
        continue;
      }
      if (found != nullptr) fields = fields_below(at);
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const Field& f) { return f.name == step.name; });
      if (field == fields.end()) {
        std::vector<std::string> names;
        for (const Field& known : fields) names.push_back(joined_path(walked, known.name));
        throw UsageError("no plugin, kind or field is named '" + path + "'",
                         {.hint = suggestion(joined_path(walked, step.name), names)});
      }
      at = Field(*field);
      found = &at;
      walked = joined_path(walked, step.name);
    }
    if (found == nullptr) throw UsageError("'" + path + "' is not a field");
    std::string text = field_text(*found, 0);
    if (found->type.form != FieldType::Form::config) return text;
    text += fmt::format("\nTypes:\n");
    for (const std::string& key : catalog_.keys(found->type.kind)) text += "  " + key + "\n";
    return text;
  }

  static Field named_element(const Field& map, const std::string& name) {
    Field element;
    element.name = name;
    element.type = FieldType(map.type.element.front());
    return element;
  }

  std::vector<Field> fields_below(const Field& field) {
    if (field.type.form != FieldType::Form::config) return nested_fields(field.type);
    const Value* key = field.default_value ? &*field.default_value : nullptr;
    if (key != nullptr && key->is_table()) key = key->find("type");
    if (key == nullptr || !key->is_string()) {
      throw UsageError("the fields below '" + field.name + "' depend on its type",
                       {.hint = "trivet explain " + field.type.kind +
                                " lists the types; --config FILE uses the type in a config"});
    }
    Diagnostics diagnostics;
    const Schema* schema =
        lookup_.find(field.type.kind, key->as_string(), {}, field.name, diagnostics);
    diagnostics.throw_if_any();
    return schema->fields;
  }

  HostCatalog catalog_;
  PluginHost& host_;
  SchemaLookup& lookup_;
};

// The words of `trivet config show` for the same config.
std::vector<std::string> config_words(const Arguments& arguments) {
  std::vector<std::string> words;
  bool subject = true;
  for (const Arguments::Given& given : arguments.given()) {
    if (given.name == "config") {
      words.insert(words.begin(), given.value);
    } else if (!given.name.empty()) {
      words.push_back("--" + given.name + "=" + given.value);
    } else if (!std::exchange(subject, false)) {
      words.push_back(given.value);
    }
  }
  return words;
}

std::string reference_page_of(const std::vector<std::string>& subjects,
                              const std::vector<std::string>& plugin_dirs) {
  if (!subjects.empty()) {
    return Explainer(plugin_dirs, UnknownDefaults::load_plugin).reference(subjects[0]);
  }
  return reference_page("Keys of a config", config_reference(launch_file_schema()));
}

int run_explain(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kExplainOptions);
  const std::vector<std::string> subjects = arguments.plain();
  const bool in_config =
      arguments.has("config") || arguments.has("config_file") || arguments.has("experiment");
  if (arguments.has("markdown")) {
    if (in_config || arguments.has("set") || subjects.size() > 1) {
      throw UsageError("--markdown takes one key, plugin or kind, or nothing else");
    }
    print_out(reference_page_of(subjects, arguments.all("plugin-dir")));
    return 0;
  }
  if (subjects.empty() || (subjects.size() > 1 && !in_config)) {
    throw UsageError("'trivet explain' takes one key, plugin, kind or path",
                     {.hint = "trivet plugins lists the keys"});
  }
  if (subjects[0].empty()) throw UsageError("the name to explain is empty");
  if (!in_config) {
    if (arguments.has("set")) throw UsageError("--set changes a config: name one with --config");
    print_out(printable(Explainer(arguments.all("plugin-dir")).explain(subjects[0])));
    return 0;
  }
  if (subjects[0].find('/') != std::string::npos && subjects[0].find('"') == std::string::npos) {
    throw UsageError("'" + subjects[0] + "' is a key, but --config takes a path",
                     {.hint = "trivet explain " + subjects[0]});
  }
  const ConfigArguments given = parse_config_arguments(config_words(arguments), kExplainOptions);
  HostCatalog catalog(given.plugin_dirs, UnknownDefaults::load_plugin);
  print_out(printable(explain_value(subjects[0], resolve_config(given.request, catalog), catalog)));
  return 0;
}

}  // namespace

extern const CommandInfo kExplainCommand = {
    .name = "explain",
    .usage = "explain KEY|PLUGIN|KIND|PATH [--config FILE]",
    .summary = "Explains an item or a field of a config",
    .details =
        "  trivet explain nn/Linear          an item: its fields, types, ranges, defaults\n"
        "  trivet explain nn                 a plugin and its items\n"
        "  trivet explain layer              all items of a kind\n"
        "  trivet explain runtime.threads    a field of an experiment's config\n"
        "  trivet explain task.model.hidden_dims --config mnist.toml [K=V ...]\n"
        "                                    a field in that config: its meaning, its value,\n"
        "                                    and the file and line that set the value\n"
        "  trivet explain --markdown nn      all items of a plugin as a page of Markdown\n"
        "\n"
        "Reads the notes in the files of plugins. Loads only the libraries that the config\n"
        "names.",
    .options = kExplainOptions,
    .operand = Operand::key_or_path,
    .run = &run_explain,
};

}  // namespace trivet
