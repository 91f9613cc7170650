// SPDX-License-Identifier: Apache-2.0
// The mechanical rules for docs of fields: each is printed alone, so it names its subject.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

using nlohmann::json;

namespace {

// Descriptions by where one stands.
void collect(const json& schema, const std::string& path,
             std::map<std::string, std::string>& docs) {
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

bool begins_with_word(std::string_view text, std::string_view word) {
  return text.starts_with(word) &&
         (text.size() == word.size() || text[word.size()] == ' ' || text[word.size()] == ',');
}

}  // namespace

TEST_CASE("the doc of each field names its subject and is a sentence") {
  const trivet::test::ShellResult schema = trivet::test::trivet("schema");
  REQUIRE(schema.exit_code == 0);
  std::map<std::string, std::string> docs;
  collect(json::parse(schema.output), "", docs);
  CHECK(docs.size() > 500);
  constexpr std::array kLeaning{"They", "Then",  "It",    "Its",   "Their", "Of",   "The same",
                                "This", "That",  "Those", "These", "Else",  "What", "Which",
                                "Who",  "Whose", "And",   "Or",    "But"};
  for (const auto& entry : docs) {
    const std::string& doc = entry.first;
    INFO(entry.second << ": " << doc);
    CHECK(std::none_of(kLeaning.begin(), kLeaning.end(),
                       [&](const char* word) { return begins_with_word(doc, word); }));
    CHECK((doc.ends_with('.') || doc.ends_with(')') || doc.ends_with('"')));
  }
}
