// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/arguments.h"

#include <algorithm>

#include <boost/program_options.hpp>
#include <fmt/core.h>

#include "trivet/config/schema.h"
#include "trivet/error.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

namespace po = boost::program_options;

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> list;
  for (const std::string_view name : split(names, ' ')) {
    if (!name.empty()) list.emplace_back(name);
  }
  return list;
}

std::vector<std::string> all_names(const OptionSpec& option) {
  std::vector<std::string> names = split_names(option.other_names);
  names.emplace(names.begin(), option.name);
  return names;
}

po::options_description describe(std::span<const OptionSpec> options) {
  po::options_description description;
  for (const OptionSpec& option : options) {
    for (const std::string& name : all_names(option)) {
      const bool first = name == option.name;
      const std::string names = first && option.letter != 0 ? name + "," + option.letter : name;
      if (option.value.empty()) {
        description.add_options()(names.c_str(), "");
      } else {
        description.add_options()(names.c_str(), po::value<std::string>(), "");
      }
    }
  }
  return description;
}

[[noreturn]] void throw_usage(const po::error& error, std::span<const OptionSpec> options) {
  if (const auto* unknown = dynamic_cast<const po::unknown_option*>(&error)) {
    std::vector<std::string> known;
    for (const OptionSpec& option : options) known.push_back("--" + std::string(option.name));
    const std::string name = unknown->get_option_name();
    throw UsageError("unknown option '" + name + "'", {.hint = suggestion(name, known)});
  }
  throw UsageError(error.what());
}

std::string label(const OptionSpec& option) {
  std::string text = option.letter != 0 ? fmt::format("-{}, ", option.letter) : "    ";
  text += "--" + std::string(option.name);
  return option.value.empty() ? text : text + " " + std::string(option.value);
}

std::vector<Arguments::Given> collect(const po::parsed_options& parsed,
                                      std::span<const OptionSpec> options) {
  std::vector<Arguments::Given> given;
  for (const po::option& entry : parsed.options) {
    if (entry.position_key != -1) {
      for (const std::string& word : entry.value) given.push_back({{}, word});
      continue;
    }
    const std::string name =
        entry.string_key.starts_with('-') ? entry.string_key.substr(1) : entry.string_key;
    const OptionSpec* option = find_option(options, name);
    if (option == nullptr) throw UsageError("unknown option '" + entry.string_key + "'");
    const bool again = std::any_of(given.begin(), given.end(), [&](const auto& earlier) {
      return earlier.name == option->name;
    });
    if (again && !option->repeatable) {
      throw UsageError("option '--" + std::string(option->name) + "' is given more than once");
    }
    given.push_back({std::string(option->name), entry.value.empty() ? "" : entry.value.front()});
  }
  return given;
}

}  // namespace

const OptionSpec* find_option(std::span<const OptionSpec> options, std::string_view name) noexcept {
  for (const OptionSpec& option : options) {
    if (option.name == name) return &option;
    if (name.size() == 1 && option.letter == name[0]) return &option;
    std::string_view rest = option.other_names;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (rest.substr(0, end) == name) return &option;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return nullptr;
}

const std::string* Arguments::last(std::string_view name) const noexcept {
  const auto found = std::find_if(given_.rbegin(), given_.rend(),
                                  [&](const Given& given) { return given.name == name; });
  return found == given_.rend() ? nullptr : &found->value;
}

std::vector<std::string> Arguments::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const Given& given : given_) {
    if (given.name == name) values.push_back(given.value);
  }
  return values;
}

Arguments parse_arguments(std::span<const std::string> words, std::span<const OptionSpec> options) {
  using po::command_line_style::style_t;
  // No guessing: an abbreviation that works today would break when an option is added.
  constexpr int kStyle = style_t::allow_long | style_t::allow_short |
                         style_t::allow_dash_for_short | style_t::long_allow_adjacent |
                         style_t::long_allow_next | style_t::short_allow_adjacent |
                         style_t::short_allow_next | style_t::allow_sticky;
  const po::options_description description = describe(options);
  // A name that no table uses: plain arguments are known by their position, not by it.
  po::positional_options_description plain;
  plain.add(" plain", -1);
  po::options_description known = description;
  known.add_options()(" plain", po::value<std::vector<std::string>>(), "");
  try {
    const std::vector<std::string> copy(words.begin(), words.end());
    return Arguments(
        collect(po::command_line_parser(copy).options(known).positional(plain).style(kStyle).run(),
                options));
  } catch (const po::error& error) {
    throw_usage(error, options);
  }
}

std::string options_text(std::span<const OptionSpec> options) {
  std::size_t width = 0;
  for (const OptionSpec& option : options) width = std::max(width, label(option).size());
  std::string text;
  for (const OptionSpec& option : options) {
    text += fmt::format("  {:<{}}  {}", label(option), width, option.doc);
    for (const std::string& name : split_names(option.other_names)) {
      text += fmt::format(" (also --{})", name);
    }
    text += '\n';
  }
  return text;
}

}  // namespace trivet
