// SPDX-License-Identifier: Apache-2.0
#include "config/toml/toml_reader.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "config/toml/source_file.h"
#include "config/toml/text_checks.h"
#include "trivet/config/schema.h"

namespace trivet {
namespace {

Origin origin_of(const toml::source_region& region, const std::string& file) {
  return {.file = file,
          .line = static_cast<int>(region.begin.line),
          .column = static_cast<int>(region.begin.column)};
}

// toml++ keeps tables sorted by key; the order of the file comes back from the keys' locations.
class Converter {
 public:
  Converter(const std::string& file, Diagnostics& diagnostics)
      : file_(file), diagnostics_(diagnostics) {}

  Value convert(const toml::node& node, const std::string& path) {
    Value value = convert_content(node, path);
    value.set_origin(origin_of(node.source(), file_));
    return value;
  }

 private:
  Value convert_content(const toml::node& node, const std::string& path) {
    switch (node.type()) {
      case toml::node_type::table:
        return convert_table(*node.as_table(), path);
      case toml::node_type::array:
        return convert_array(*node.as_array(), path);
      case toml::node_type::string:
        return node.as_string()->get();
      case toml::node_type::integer:
        return node.as_integer()->get();
      case toml::node_type::floating_point:
        return node.as_floating_point()->get();
      case toml::node_type::boolean:
        return node.as_boolean()->get();
      default:
        break;
    }
    diagnostics_.add({origin_of(node.source(), file_), path,
                      "dates and times are not supported in a config",
                      "write it in quotes, as a string"});
    return "";
  }

  Value convert_table(const toml::table& table, const std::string& path) {
    Value result = Value::table();
    Value::Table& members = result.members();
    members.reserve(table.size());
    for (const auto& [key, node] : table) {
      members.push_back({std::string(key.str()), convert(node, joined_path(path, key.str())),
                         origin_of(key.source(), file_)});
    }
    std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
      return std::tie(a.key_origin.line, a.key_origin.column) <
             std::tie(b.key_origin.line, b.key_origin.column);
    });
    return result;
  }

  Value convert_array(const toml::array& array, const std::string& path) {
    Value::Array items;
    items.reserve(array.size());
    for (const toml::node& node : array) {
      items.push_back(convert(node, joined_path(path, items.size())));
    }
    return items;
  }

  const std::string& file_;
  Diagnostics& diagnostics_;
};

void check_text(std::string_view text, const std::string& file) {
  const auto refuse = [&](std::size_t offset, std::string what, std::string hint) {
    const TextPosition location = location_of(text, offset);
    throw ConfigError(Diagnostic{{.file = file, .line = location.line, .column = location.column},
                                 {},
                                 std::move(what),
                                 std::move(hint)});
  };
  if (const auto offset = find_invalid_utf8(text)) {
    refuse(*offset, "the file is not UTF-8 text", "save the file as UTF-8");
  }
  if (const auto offset = find_too_deep_nesting(text)) {
    refuse(*offset, "nested deeper than " + std::to_string(kDeepestNesting) + " levels", {});
  }
}

// The line of a text, from 1, without its end.
std::string_view line_at(std::string_view text, std::uint32_t number) {
  for (; number > 1 && !text.empty(); --number) {
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  }
  return text.substr(0, text.find_first_of("\r\n"));
}

// The hint for a line that fails because it is JSON or YAML.
std::string hint_of_other_language(std::string_view text, std::uint32_t line) {
  constexpr const char* kToml = "configs are TOML: [trainer] above train_steps = 5";
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  if (text[first] == '{') return std::string(kToml) + "; JSON goes to --params_override";
  std::string_view failed = line_at(text, line);
  failed.remove_prefix(std::min(failed.size(), failed.find_first_not_of(kBlank)));
  if (failed.starts_with("- ") || failed.starts_with("---")) return kToml;
  const std::size_t end = failed.find_first_of("=:#[{");
  const bool pair = end != std::string_view::npos && end > 0 && failed[end] == ':' &&
                    (end + 1 == failed.size() || kBlank.find(failed[end + 1]) != kBlank.npos);
  return pair ? kToml : std::string();
}

}  // namespace

Value read_toml(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.starts_with(kByteOrderMark)) {
    throw ConfigError(Diagnostic{.where = {.file = file, .line = 1, .column = 1},
                                 .what = "the file starts with two byte order marks",
                                 .hint = "save the file as UTF-8 without any"});
  }
  check_text(text, file);
  Diagnostics diagnostics;
  try {
    const toml::table table = toml::parse(text);
    Value value = Converter(file, diagnostics).convert(table, {});
    value.set_origin({.file = file, .line = 1, .column = 1});
    diagnostics.throw_if_any();
    return value;
  } catch (const toml::parse_error& error) {
    throw ConfigError(Diagnostic{origin_of(error.source(), file),
                                 {},
                                 std::string(error.description()),
                                 hint_of_other_language(text, error.source().begin.line)});
  }
}

Value read_toml_file(const std::filesystem::path& file, const Origin& named_at) {
  return read_toml(read_config_text(file, named_at), file.string());
}

namespace {

// The columns of a value that was parsed after the prefix "v = ".
void shift_columns(Value& value, int by) {
  Origin origin = value.origin();
  origin.column = std::max(1, origin.column - by);
  value.set_origin(std::move(origin));
  if (value.is_array()) {
    for (Value& item : value.items()) shift_columns(item, by);
  }
  if (!value.is_table()) return;
  for (Value::Member& member : value.members()) {
    member.key_origin.column = std::max(1, member.key_origin.column - by);
    shift_columns(member.value, by);
  }
}

}  // namespace

Value read_toml_value(std::string_view text) {
  constexpr std::string_view kPrefix = "v = ";
  constexpr int kShift = static_cast<int>(kPrefix.size());
  if (const std::size_t end = text.find_first_of("\r\n"); end != std::string_view::npos) {
    throw ConfigError(Diagnostic{
        {.line = 1, .column = static_cast<int>(end) + 1}, {}, "the value has several lines", {}});
  }
  try {
    Value table = read_toml(std::string(kPrefix) + std::string(text), {});
    Value value = std::move(table.members().at(0).value);
    shift_columns(value, kShift);
    return value;
  } catch (const ConfigError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& problem : diagnostics) {
      problem.where.column = std::max(1, problem.where.column - kShift);
    }
    throw ConfigError(std::move(diagnostics));
  }
}

std::optional<Value> try_read_toml_value(std::string_view text) {
  // The parser tells by an exception.
  try {
    return read_toml_value(text);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace trivet
