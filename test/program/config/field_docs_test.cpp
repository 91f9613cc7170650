// SPDX-License-Identifier: Apache-2.0
// The mechanical rules for docs of fields, items, plugins, commands and options: each is printed
// alone, so it names its subject.
#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

using nlohmann::json;

namespace {

using Docs = std::map<std::string, std::string>;  // where each text is from

// Descriptions by their paths in the schema.
void collect(const json& schema, const std::string& path, Docs& docs) {
  if (schema.is_array()) {
    for (std::size_t i = 0; i < schema.size(); ++i) {
      collect(schema[i], path + "/" + std::to_string(i), docs);
    }
  }
  if (!schema.is_object()) return;
  const auto doc = schema.find("description");
  if (doc != schema.end() && doc->is_string()) docs[doc->get<std::string>()] = path;
  for (const auto& [name, inner] : schema.items()) collect(inner, path + "/" + name, docs);
}

std::string output_of(const std::string& words) {
  const trivet::test::ShellResult result = trivet::test::trivet(words);
  INFO("trivet " << words << "\n" << result.output);
  REQUIRE(result.exit_code == 0);
  return result.output;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.starts_with(word) &&
         (text.size() == word.size() || text[word.size()] == ' ' || text[word.size()] == ',');
}

// Whether a text starts with words that point to a text before it, or has no subject.
bool has_leaning_start(const std::string& doc) {
  constexpr std::array kLeaning{
      "They",    "Then",        "It",        "Its",    "Their", "Of",     "This",     "That",
      "Those",   "These",       "Else",      "What",   "Which", "Who",    "Whose",    "And",
      "Or",      "But",         "Where it",  "Behind", "Both",  "Added",  "Applied",  "Continued",
      "In turn", "Makes those", "Adds to",   "Stands", "Said",  "Kept",   "Reported", "Subtracted",
      "Another", "Another one", "The other", "Inside", "After", "Before", "Between"};
  // "The same as CONFIG" names what it is the same as.
  if (doc.starts_with("The same") && !doc.starts_with("The same as ")) return true;
  return std::any_of(kLeaning.begin(), kLeaning.end(),
                     [&](const char* word) { return starts_with_word(doc, word); });
}

// Whether the first clause has a pronoun for something that the clause does not name before it.
bool has_leaning_clause(const std::string& doc) {
  static const std::regex kPronoun("^[^.;:]*\\b(these|those|them)\\b");
  // "keys after the query from those before it", "names, instead of those of the header".
  static const std::regex kNamed(
      "\\w+\\b[^.;:]*\\b((from|of|to) those (of|before|after)|(of|around|lets|and \\w+s) them)\\b"
      "|\\b(these|those) (texts|values|columns|words|weights)\\b");
  return std::regex_search(doc, kPronoun) && !std::regex_search(doc, kNamed);
}

void check_subjects(const Docs& docs) {
  for (const auto& [doc, from] : docs) {
    INFO(from << ": " << doc);
    CHECK_FALSE(has_leaning_start(doc));
    CHECK_FALSE(has_leaning_clause(doc));
  }
}

void check_sentences(const Docs& docs) {
  for (const auto& [doc, from] : docs) {
    INFO(from << ": " << doc);
    CHECK((doc.ends_with('.') || doc.ends_with(')') || doc.ends_with('"')));
  }
}

}  // namespace

TEST_CASE("the doc of each field names its subject and is a sentence") {
  Docs docs;
  collect(json::parse(output_of("schema")), "", docs);
  CHECK(docs.size() > 500);
  check_subjects(docs);
  check_sentences(docs);
}

TEST_CASE("the doc of each plugin and item names its subject and is a sentence") {
  Docs plugins, items;
  const json listing = json::parse(output_of("plugins --json"));
  for (const json& plugin : listing.at("plugins")) {
    if (!plugin.contains("items")) continue;  // a refused file
    plugins[plugin.at("doc").get<std::string>()] = plugin.at("name").get<std::string>();
    for (const json& item : plugin.at("items")) {
      // Docs of commands are summaries, which have no period.
      Docs& docs = item.at("kind") == "command" ? plugins : items;
      docs[item.at("doc").get<std::string>()] = item.at("key").get<std::string>();
    }
  }
  CHECK(plugins.size() > 10);
  CHECK(items.size() > 100);
  check_subjects(plugins);
  check_subjects(items);
  check_sentences(items);
}

TEST_CASE("the summary of each command and the doc of each option name their subjects") {
  // "  name [WORDS]   Summary", "  -n, --name VALUE   Doc", two spaces or more before the text.
  static const std::regex kSummary("^  ([a-z]+)( [^ ]+)*  +([A-Z].*)$");
  static const std::regex kOption("^  (    |-., )--([a-z_-]+)( [^ ]+)?  +([^ ].*)$");
  Docs summaries, options;
  std::istringstream help(output_of("help"));
  for (std::string line, page_line; std::getline(help, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, kSummary)) continue;
    const std::string command = match[1];
    summaries[match[3]] = command;
    std::istringstream page(output_of(command + " --help"));
    while (std::getline(page, page_line)) {
      std::smatch option;
      if (std::regex_match(page_line, option, kOption)) {
        options[option[4]] = command + " --" + option[2].str();
      }
    }
  }
  CHECK(summaries.size() > 20);
  CHECK(options.size() > 40);
  check_subjects(summaries);
  check_subjects(options);
}

TEST_CASE("a doc that leans on the text before it is found") {
  for (const char* doc : {"Where it runs: a cluster's partition.", "Behind the blocks.",
                          "Of bpe: the number of all tokens", "The same; unset: none.",
                          "Distance between these.", "The feed-forward part of these, or none.",
                          "Makes those of the targets.", "Adds to these the histograms."}) {
    INFO(doc);
    CHECK((has_leaning_start(doc) || has_leaning_clause(doc)));
  }
  for (const char* doc : {"The same as CONFIG", "Where reading starts in each file.",
                          "Distinguishes keys after the query from those before it.",
                          "Cells with one of these texts have no value."}) {
    INFO(doc);
    CHECK_FALSE((has_leaning_start(doc) || has_leaning_clause(doc)));
  }
}
