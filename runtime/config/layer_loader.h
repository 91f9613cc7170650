// SPDX-License-Identifier: Apache-2.0
//
// Config files and the files they are based on, as layers: base = ["a.toml", "b.toml"] puts those
// below the file that says so, each above the one before.
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
  // `texts`: what files will hold that are not written yet; must outlive it.
  explicit LayerLoader(Diagnostics& diagnostics, const Texts* texts = nullptr)
      : diagnostics_(diagnostics), texts_(texts) {}

  // Reads a file and everything it is based on. Names in `base` are relative to the file they stand
  // in. Whatever is wrong (unreadable or malformed files, files based on themselves) is added to
  // the problems.
  void load(const std::filesystem::path& file);

  // In the order of their weight, the lowest first; without their `base`.
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
