// SPDX-License-Identifier: Apache-2.0
//
// `trivet explain`: what a key or a field of a config means, from the notes alone. Opens no
// library.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/config_arguments.h"
#include "cli/terminal.h"
#include "host/plugin_host.h"
#include "trivet/config.h"
#include "trivet/experiment.h"

namespace trivet {
namespace {

constexpr OptionSpec kOptions[] = {
    kPluginDirOption,
};

std::string default_text(const Field& field) {
  if (field.required) return "required";
  if (!field.default_value) return "default known to the plugin only";
  if (field.default_value->is_null()) return "default: nothing";
  return "default: " + to_toml(*field.default_value);
}

std::string choices_text(const FieldType& type) {
  const FieldType* inner = &type;
  while (!inner->element.empty()) inner = &inner->element[0];
  std::string text;
  for (const std::string& choice : inner->choices) text += (text.empty() ? "" : ", ") + choice;
  return text.empty() ? text : "one of: " + text;
}

const std::vector<Field>& nested_fields(const FieldType& type) {
  const FieldType* inner = &type;
  while (!inner->element.empty()) inner = &inner->element[0];
  return inner->fields;
}

std::string field_text(const Field& field, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string text = fmt::format("{}{}  ({}", margin, field.name, to_string(field.type));
  if (const std::string range = range_text(field); !range.empty()) text += " " + range;
  const bool plain_table = field.type.form == FieldType::Form::table && !field.type.optional;
  text += plain_table ? ")\n" : fmt::format(", {})\n", default_text(field));
  if (!field.doc.empty()) text += fmt::format("{}    {}\n", margin, field.doc);
  if (const std::string choices = choices_text(field.type); !choices.empty()) {
    text += fmt::format("{}    {}\n", margin, choices);
  }
  for (const Field& nested : nested_fields(field.type)) text += field_text(nested, indent + 4);
  return text;
}

std::string fields_text(const Schema& schema) {
  if (schema.fields.empty()) return "  It has no fields.\n";
  std::string text;
  for (const Field& field : schema.fields) text += field_text(field, 2);
  return text;
}

class Explainer {
 public:
  explicit Explainer(const std::vector<std::string>& plugin_dirs)
      : host_(plugin_search_path(plugin_dirs)), lookup_(host_) {}

  std::string explain(const std::string& subject) {
    if (subject.find('/') != std::string::npos) return explain_key(subject);
    if (const std::string text = explain_plugin(subject); !text.empty()) return text;
    if (const std::vector<std::string> keys = host_.keys(subject); !keys.empty()) {
      std::string text = fmt::format("Of the kind '{}' there are\n", subject);
      for (const std::string& key : keys) text += "  " + key + "\n";
      return text;
    }
    return explain_path(subject);
  }

 private:
  std::string explain_key(const std::string& key) {
    std::string text;
    for (const ManifestItem& item : host_.items(key)) {
      text += fmt::format("{} ({})\n", item.key, item.kind);
      if (!item.doc.empty()) text += fmt::format("  {}\n", item.doc);
      if (!item.from_number.empty()) {
        text += fmt::format("  A bare number stands for it and sets '{}'.\n", item.from_number);
      }
      Problems problems;
      const Schema* schema = lookup_.find(item.kind, item.key, {}, {}, problems);
      text += "\n" + (schema != nullptr ? fields_text(*schema) : "") + "\n";
    }
    if (!text.empty()) return text + origin_text(key);
    const std::string plugin = key.substr(0, key.find('/'));
    if (const std::string refusal = host_.refusal(plugin); !refusal.empty()) {
      throw PluginError("the plugin cannot be used: " + refusal, {.plugin = plugin, .key = key});
    }
    throw UsageError("there is no '" + key + "'",
                     {.hint = suggestion(key, host_.keys({})) + "; " + host_.searched()});
  }

  std::string origin_text(const std::string& key) {
    for (const PluginFile& file : host_.files()) {
      const bool usable = file.state == PluginState::available || file.state == PluginState::loaded;
      if (!usable || file.manifest->name != key.substr(0, key.find('/'))) continue;
      return fmt::format("From {} {} ({}), {}\n", file.manifest->name, file.manifest->version,
                         file.manifest->license, file.path.string());
    }
    return {};
  }

  std::string explain_plugin(const std::string& name) {
    for (const PluginFile& file : host_.files()) {
      if (file.name() != name || file.state == PluginState::shadowed) continue;
      if (!file.manifest)
        return fmt::format("{} is refused: {}\n", file.path.string(), file.reason);
      std::string text = fmt::format("{} {} ({}), {}\n", name, file.manifest->version,
                                     file.manifest->license, to_string(file.state));
      if (!file.manifest->doc.empty()) text += "  " + file.manifest->doc + "\n";
      if (!file.reason.empty()) text += "  " + file.reason + "\n";
      for (const ManifestItem& item : file.manifest->items) {
        text += fmt::format("\n  {} ({})\n      {}", item.key, item.kind, item.doc);
      }
      return text + "\n";
    }
    return {};
  }

  // A dotted path in the config of an experiment. Where a path goes through a ConfigOf, its default
  // type is meant.
  std::string explain_path(const std::string& path) {
    std::vector<Field> fields = schema_of<ExperimentConfig>().fields;
    const Field* found = nullptr;
    Field at;
    std::string walked;
    for (const PathStep& step : split_path(path)) {
      if (step.index >= 0) continue;
      if (found != nullptr) fields = fields_below(at);
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const Field& f) { return f.name == step.name; });
      if (field == fields.end()) {
        std::vector<std::string> names;
        for (const Field& known : fields) names.push_back(joined_path(walked, known.name));
        throw UsageError("there is no plugin, kind or field '" + path + "'",
                         {.hint = suggestion(joined_path(walked, step.name), names)});
      }
      at = Field(*field);
      found = &at;
      walked = joined_path(walked, step.name);
    }
    if (found == nullptr) throw UsageError("the path is empty");
    std::string text = field_text(*found, 0);
    if (found->type.form != FieldType::Form::config) return text;
    text += fmt::format("\nThere are\n");
    for (const std::string& key : host_.keys(found->type.kind)) text += "  " + key + "\n";
    return text;
  }

  std::vector<Field> fields_below(const Field& field) {
    if (field.type.form != FieldType::Form::config) return nested_fields(field.type);
    if (!field.default_value || !field.default_value->is_text()) {
      throw UsageError("what is below '" + field.name + "' depends on its type",
                       {.hint = "trivet explain " + field.type.kind + " lists the types"});
    }
    Problems problems;
    const Schema* schema =
        lookup_.find(field.type.kind, field.default_value->as_text(), {}, field.name, problems);
    problems.throw_if_any();
    return schema->fields;
  }

  PluginHost host_;
  HostLookup lookup_;
};

int run_explain(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kOptions);
  const std::vector<std::string> subjects = arguments.plain();
  if (subjects.size() != 1) {
    throw UsageError("'trivet explain' takes one key, plugin, kind or path",
                     {.hint = "trivet plugins lists the keys"});
  }
  print_out(Explainer(arguments.all("plugin-dir")).explain(subjects[0]));
  return 0;
}

}  // namespace

constexpr CommandInfo kExplainCommand = {
    .name = "explain",
    .usage = "explain KEY|PLUGIN|KIND|PATH",
    .summary = "Tells what an item or a field of a config is",
    .details =
        "  trivet explain nn/Linear          an item: its fields, types, ranges, defaults\n"
        "  trivet explain nn                 a plugin and its items\n"
        "  trivet explain layer              all items of a kind\n"
        "  trivet explain runtime.threads    a field of an experiment's config\n"
        "\nReads the notes in the files of plugins; no library is opened.",
    .options = kOptions,
    .operand = Operand::key_or_path,
    .run = &run_explain,
};

}  // namespace trivet
