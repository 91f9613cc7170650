// SPDX-License-Identifier: Apache-2.0
// Reads the tensors of a Hugging Face model: model.safetensors, or the files listed in
// model.safetensors.index.json. A damaged, missing or duplicate tensor is a UsageError that names
// file and tensor.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/data/safetensors.h"

namespace trivet::lm {

class HfWeights {
 public:
  // `path`: a folder with the files, a .safetensors file, or an .index.json. Names may have the
  // prefix or not.
  HfWeights(const std::filesystem::path& path, std::string_view prefix);

  // Keyed by the name without the prefix; the entry has the file's name.
  const std::map<std::string, SafetensorsEntry, std::less<>>& tensors() const { return tensors_; }
  const SafetensorsEntry* find(std::string_view name) const;
  const std::string& name() const { return name_; }  // for messages

 private:
  void read_index(const std::filesystem::path& index);
  const SafetensorsFile& open(const std::filesystem::path& file);
  void add(const SafetensorsEntry& entry, const std::filesystem::path& file);

  std::string name_, prefix_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, SafetensorsEntry, std::less<>> tensors_;
};

}  // namespace trivet::lm
