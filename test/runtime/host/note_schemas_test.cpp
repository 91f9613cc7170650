// SPDX-License-Identifier: Apache-2.0
#include "host/note_schemas.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "host/elf_note.h"
#include "host/manifest.h"
#include "support/paths.h"
#include "support/plugin_folder.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

using namespace trivet;
using Json = nlohmann::json;

namespace {

constexpr int kDeepest = 10;

std::string note_of(const std::filesystem::path& library) {
  const UniqueFd file(::open(library.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file.get() >= 0);
  return read_plugin_note(file.get()).text;
}

}  // namespace

TEST_CASE("schemas are taken out of the items only") {
  const SplitNote note = split_schemas(
      R"({"schema":1,"items":[{"schema":{"a":"},\"]","schema":[2]},"key":"\"schema\":"},)"
      R"({"schema" : "x,y"},{"doc":{"schema":3}}]})",
      kDeepest);
  CHECK(note.rest == R"({"schema":1,"items":[{"schema":0,"key":"\"schema\":"},{"schema" :1},)"
                     R"({"doc":{"schema":3}}]})");
  REQUIRE(note.schemas.size() == 2);
  CHECK(note.schemas[0] == R"({"a":"},\"]","schema":[2]})");
  CHECK(note.schemas[1] == R"( "x,y")");
}

TEST_CASE("a note may end anywhere") {
  const std::string whole = R"({"items":[{"schema":{"a":["b\\",{"c":1}]},"key":"x"}]})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    const SplitNote note = split_schemas(std::string_view(whole).substr(0, size), kDeepest);
    std::size_t kept = note.rest.size() - note.schemas.size();
    for (const std::string_view schema : note.schemas) kept += schema.size();
    CHECK(kept == size);
    CHECK_THROWS_AS(parse_manifest(whole.substr(0, size)), Error);
  }
}

TEST_CASE("an item without a value for its schema is an error") {
  for (const char* end : {"}", ",\"doc\":\"\"}"}) {
    const std::string text =
        R"({"name":"x","version":"1","license":"","sdk":[1,0],"abi":{},"items":[)"
        R"({"kind":"layer","key":"x/A","schema":)" +
        std::string(end) + "]}";
    CHECK_THROWS_WITH(parse_manifest(text), "its trivet note is damaged: it is not JSON");
  }
}

TEST_CASE("a schema whose key is escaped or whose value is forged is an error") {
  for (const char* schema : {R"("\u0073chema":{})", R"("\u0073chema":7)"}) {
    CHECK_THROWS_WITH(
        parse_manifest(R"({"name":"x","version":"1","license":"","sdk":[1,0],"abi":{},"items":[)"
                       R"({"kind":"layer","key":"x/A",)" +
                       std::string(schema) + "}]}"),
        Catch::Contains("the schema of 'x/A' cannot be found"));
  }
}

TEST_CASE("the schemas of the test plugins are those of their whole notes") {
  int schemas = 0;
  for (const char* plugin : {"alpha", "demo", "hostile"}) {
    const std::string text = note_of(test::fixture(plugin));
    const Json whole = Json::parse(text);
    const Manifest manifest = parse_manifest(text);
    REQUIRE(manifest.items.size() == whole.at("items").size());
    for (std::size_t i = 0; i < manifest.items.size(); ++i) {
      const Json& item = whole.at("items").at(i);
      CHECK(manifest.items[i].schema_json.empty() != item.contains("schema"));
      if (!item.contains("schema")) continue;
      CHECK(Json::parse(manifest.items[i].schema_json) == item.at("schema"));
      ++schemas;
    }
  }
  CHECK(schemas > 5);
}
