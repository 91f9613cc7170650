// SPDX-License-Identifier: Apache-2.0
// Loads config files and their base files as layers: base = ["a.toml", "b.toml"] puts these files
// below the file itself, b.toml over a.toml.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

class LayerLoader {
 public:
  using Texts = std::map<std::filesystem::path, std::string>;
  // `texts`: the contents of files that are not written yet. Must outlive this object.
  explicit LayerLoader(Diagnostics& diagnostics, const Texts* texts = nullptr)
      : diagnostics_(diagnostics), texts_(texts) {}

  // Reads a file and its base files. Names in `base` are relative to the file that contains them.
  // Errors (unreadable or malformed files, base cycles) are added to the diagnostics.
  void load(const std::filesystem::path& file);

  // In order of priority, lowest first; without their `base`.
  std::vector<Value> take() { return std::move(layers_); }

 private:
  struct Link {
    std::filesystem::path identity;
    std::string name;
  };
  void load(const std::filesystem::path& file, const Origin& named_at);
  void load_bases(Value& table, const std::filesystem::path& file);
  bool is_cycle(const std::filesystem::path& identity, const std::string& name,
                const Origin& named_at);
  Value read(const std::filesystem::path& file, const Origin& named_at) const;

  Diagnostics& diagnostics_;
  const Texts* texts_;
  std::vector<Value> layers_;
  std::vector<Link> chain_;
  std::size_t loads_ = 0;
};

}  // namespace trivet
