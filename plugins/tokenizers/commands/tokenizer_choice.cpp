// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/commands/tokenizer_choice.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "tokenizers/bpe/tokenizer_json.h"
#include "tokenizers/text/json_file.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

namespace fs = std::filesystem;

using Choice = ConfigOf<Tokenizer>;

Choice from_table(const Value& table, const std::string& where) {
  const Value* type = table.find("type");
  if (type == nullptr || !type->is_string()) {
    throw UsageError(where + " has no \"type\"", {.hint = "such as \"tokenizers/Bytes\""});
  }
  Value fields = table;
  fields.erase("type");
  return Choice(type->as_string(), std::move(fields));
}

// Whether the value is a key of a tokenizer or a table that has one. The kind is checked where it
// is used.
bool is_tokenizer(const Value& value) {
  const Value* type = value.is_table() ? value.find("type") : nullptr;
  if (type == nullptr || !type->is_string()) return false;
  try {
    registry().get(Tokenizer::kKind, type->as_string());
    return true;
  } catch (const ConfigError&) {
    return false;  // an item of another kind
  }
}

// Collects all tables of tokenizers in a config with their locations; equal ones count once.
void collect(const Value& value, const std::string& path,
             std::vector<std::pair<std::string, const Value*>>& found) {
  if (is_tokenizer(value)) {
    for (const auto& [location, other] : found) {
      if (*other == value) return;
    }
    found.emplace_back(path, &value);
    return;
  }
  if (value.is_table()) {
    for (const Value::Member& member : value.members()) {
      collect(member.value, joined_path(path, member.key), found);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      collect(value.items()[i], joined_path(path, i), found);
    }
  }
}

Choice from_config(const std::string& file, const std::string& location, CommandContext& context) {
  const Value config = context.config(std::vector{file});
  if (!location.empty()) {
    const Value* value = config.find_path(location);
    if (value == nullptr) throw UsageError(file + " has no '" + location + "'");
    return value->is_string() ? Choice(value->as_string(), Value::table())
                              : from_table(*value, "'" + location + "' in " + file);
  }
  std::vector<std::pair<std::string, const Value*>> found;
  collect(config, {}, found);
  if (found.empty()) throw UsageError(file + " has no tokenizer");
  if (found.size() > 1) {
    std::string locations;
    for (const auto& [path, value] : found) {
      locations += (locations.empty() ? "" : ", ") + file + ":" + path;
    }
    throw UsageError(file + " has several tokenizers", {.hint = "name one: " + locations});
  }
  return from_table(*found.front().second, file);
}

// GPT-2's form has a class of its own, with which models were trained; it stays the same tokenizer.
const char* key_of_json(const std::string& file) {
  try {
    read_tokenizer_json(read_text(file), file);
    return "tokenizers/Bpe";
  } catch (const InputError&) {
    return "tokenizers/HuggingFace";  // says what is wrong with the file, if something is
  }
}

Choice from_json(const std::string& file) {
  return Choice(key_of_json(file), Value::table({{"file", file}}));
}

Choice from_folder(const fs::path& folder) {
  const auto text = [&](const char* name) { return (folder / name).string(); };
  if (fs::exists(folder / "tokenizer.json")) {
    return from_json(text("tokenizer.json"));
  }
  if (fs::exists(folder / "vocab.json") && fs::exists(folder / "merges.txt")) {
    return Choice("tokenizers/Bpe",
                  Value::table({{"vocab", text("vocab.json")}, {"merges", text("merges.txt")}}));
  }
  throw UsageError(folder.string() + " has neither tokenizer.json nor vocab.json and merges.txt");
}

Choice choice_of(const std::string& name, CommandContext& context) {
  if (name.starts_with('{')) return from_table(value_from_json(name, "TOKENIZER"), "the table");
  std::error_code ignored;
  if (fs::is_directory(name, ignored)) return from_folder(name);
  const std::string extension = fs::path(name).extension().string();
  if (fs::exists(name, ignored)) {
    if (extension == ".toml") return from_config(name, {}, context);
    if (extension != ".model") return from_json(name);
    return Choice("sentencepiece/Model", Value::table({{"file", name}}));
  }
  const std::size_t colon = name.rfind(".toml:");
  if (colon != std::string::npos) {
    return from_config(name.substr(0, colon + 5), name.substr(colon + 6), context);
  }
  if (extension == ".json" || extension == ".model" || extension == ".toml" ||
      name.find('/') == std::string::npos) {
    throw UsageError("there is no tokenizer '" + name + "'",
                     {.hint = "a file, a folder, a key such as tokenizers/Bytes; "
                              "trivet help tokenizer"});
  }
  return Choice(name, Value::table());
}

}  // namespace

std::unique_ptr<Tokenizer> chosen_tokenizer(const std::string& name, CommandContext& context) {
  return make(choice_of(name, context));
}

}  // namespace trivet::tokenizers
