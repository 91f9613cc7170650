// SPDX-License-Identifier: Apache-2.0
#include "host/manifest.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "host/note_schemas.h"
#include "trivet/error.h"
#include "trivet/plugin/abi.h"
#include "trivet/plugin/abi_tag.h"

namespace trivet {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostItems = 10000;
constexpr std::size_t kLongestName = 100;
// Levels of JSON. A schema takes four for each level of nested tables. Deeper text would overflow
// the stack when it is written.
constexpr int kDeepest = 200;

bool is_name(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), plain);
}

// Listings are shown on terminals, which interpret some of these characters.
std::string plain_text(const Json& json, const char* member) {
  std::string text = json.value(member, std::string());
  const auto command = [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), command) || text.find("\xC2\x9B") != text.npos) {
    throw Error(fmt::format("its {} has a control character", member));
  }
  return text;
}

// Not get<int>, which truncates large numbers.
int version_number(const Json& json) {
  constexpr std::int64_t kHighest = 1 << 16;
  if (!json.is_number_integer() || json.get<double>() < 0 || json.get<double>() > kHighest) {
    throw Error("its SDK version is not a pair of whole numbers");
  }
  return json.get<int>();
}

using Schemas = std::vector<std::string_view>;

ManifestItem item_of(const Json& json, const Schemas& schemas, const std::string& plugin) {
  ManifestItem item;
  item.kind = json.at("kind").get<std::string>();
  item.key = json.at("key").get<std::string>();
  item.doc = json.value("doc", std::string());
  item.scalar_shorthand = json.value("scalar_shorthand", std::string());
  if (const auto index = json.find("schema"); index != json.end()) {
    if (!index->is_number_unsigned() || *index >= schemas.size()) {
      throw Error(fmt::format("the schema of '{}' cannot be found", item.key));
    }
    item.schema_json = schemas[index->get<std::size_t>()];
  }
  const std::string prefix = plugin + "/";
  if (!is_name(item.kind) || !item.key.starts_with(prefix) ||
      !is_name(std::string_view(item.key).substr(prefix.size()))) {
    throw Error(fmt::format("'{}' is not a key of the plugin '{}'", item.key, plugin));
  }
  return item;
}

Manifest manifest_of(const Json& json, const Schemas& schemas) {
  Manifest manifest;
  manifest.name = json.at("name").get<std::string>();
  if (!is_name(manifest.name)) throw Error("the plugin's name is invalid");
  if (manifest.name == "trivet") throw Error("the name 'trivet' is taken by the program itself");
  (void)json.at("version").get_ref<const std::string&>();
  manifest.version = plain_text(json, "version");
  manifest.license = plain_text(json, "license");
  manifest.doc = json.value("doc", std::string());
  manifest.url = json.value("url", std::string());
  manifest.sdk_major = version_number(json.at("sdk").at(0));
  manifest.sdk_minor = version_number(json.at("sdk").at(1));
  for (const auto& [field, value] : json.at("abi").get_ref<const Json::object_t&>()) {
    manifest.abi.emplace_back(field, value.get<std::string>());
  }
  const auto& items = json.at("items").get_ref<const Json::array_t&>();
  if (items.size() > kMostItems) throw Error("the plugin declares too many items");
  std::set<std::pair<std::string, std::string>> seen;
  for (const Json& item : items) {
    manifest.items.push_back(item_of(item, schemas, manifest.name));
    const ManifestItem& added = manifest.items.back();
    if (!seen.emplace(added.kind, added.key).second) {
      throw Error(fmt::format("the plugin declares the {} '{}' twice", added.kind, added.key));
    }
  }
  return manifest;
}

}  // namespace

const ManifestItem* Manifest::find(std::string_view kind, std::string_view key) const noexcept {
  for (const ManifestItem& item : items) {
    if (item.key == key && item.kind == kind) return &item;
  }
  return nullptr;
}

Manifest parse_manifest(std::string_view json) {
  try {
    const SplitNote note = split_schemas(json, kDeepest);
    return manifest_of(Json::parse(note.rest), note.schemas);
  } catch (const Json::parse_error&) {
    throw Error("its trivet note is damaged: it is not JSON");
  } catch (const Json::exception& error) {
    throw Error(fmt::format("its trivet note is damaged: {}", error.what()));
  } catch (const Error& error) {
    throw Error(fmt::format("its trivet note is damaged: {}", error.message()));
  }
}

std::string abi_objection(const Manifest& manifest) {
  if (manifest.sdk_major != TRIVET_SDK_MAJOR) {
    return fmt::format("built for SDK {}.{}, this program has SDK {}.{}: rebuild the plugin",
                       manifest.sdk_major, manifest.sdk_minor, TRIVET_SDK_MAJOR, TRIVET_SDK_MINOR);
  }
  if (manifest.sdk_minor > TRIVET_SDK_MINOR) {
    return fmt::format("needs SDK {}.{}, this program has SDK {}.{}: update trivet",
                       manifest.sdk_major, manifest.sdk_minor, TRIVET_SDK_MAJOR, TRIVET_SDK_MINOR);
  }
  std::string differences;
  for (const AbiField& mine : kAbiTag) {
    if (std::string_view(mine.name) == "compiler") continue;
    const auto theirs = std::find_if(manifest.abi.begin(), manifest.abi.end(),
                                     [&](const auto& field) { return field.first == mine.name; });
    const std::string value = theirs == manifest.abi.end() ? "unknown" : theirs->second;
    if (value == mine.value) continue;
    differences += fmt::format("{}{} is '{}' in the plugin and '{}' here",
                               differences.empty() ? "" : ", ", mine.name, value, mine.value);
  }
  if (differences.empty()) return {};
  return fmt::format(
      "its C++ ABI differs: {}; rebuild it with the compiler options of pkg-config trivet-sdk",
      differences);
}

}  // namespace trivet
