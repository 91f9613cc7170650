// SPDX-License-Identifier: Apache-2.0
// The tensors of a published model: model.safetensors, or several files that
// model.safetensors.index.json names. What is damaged, missing or there twice is a UsageError that
// names the file and the tensor.
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
  // `path`: a folder that has them, a .safetensors file, or an .index.json. Names may have the
  // prefix or not.
  HfWeights(const std::filesystem::path& path, std::string_view prefix);

  // By the name without the prefix; the entry has the file's own.
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
