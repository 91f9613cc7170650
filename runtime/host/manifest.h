// SPDX-License-Identifier: Apache-2.0
// Manifest: the contents of a plugin's note, readable without loading the library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trivet {

struct ManifestItem {
  std::string kind;
  std::string key;
  std::string doc;
  std::string scalar_shorthand;
  std::string
      schema_json;  // empty for items without a config; read by schema_from_json when needed
};

struct Manifest {
  std::string name;
  std::string version;
  std::string license;
  std::string doc;
  std::string url;
  int sdk_major = 0;
  int sdk_minor = 0;
  std::vector<std::pair<std::string, std::string>> abi;
  std::vector<ManifestItem> items;

  const ManifestItem* find(std::string_view kind, std::string_view key) const noexcept;
};

// Throws Error for anything that is not a note of TRIVET_PLUGIN: missing members, invalid names,
// keys outside the plugin's "name/", duplicate keys.
Manifest parse_manifest(std::string_view json);

// The reason why this program cannot load a plugin with this manifest: the field, both values and
// the remedy. Empty if it can.
std::string abi_objection(const Manifest& manifest);

}  // namespace trivet
