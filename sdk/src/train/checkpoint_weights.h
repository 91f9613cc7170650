// SPDX-License-Identifier: Apache-2.0
// CheckpointWeights: the weights that a path means (find_weights), with their moving averages in
// location of those that have one, where a config wants them. Quantized weights are f32 here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "trivet/data/quantized_weights.h"
#include "trivet/data/safetensors.h"
#include "trivet/train/init_checkpoint.h"

namespace trivet::detail {

class CheckpointWeights {
 public:
  // Throws as find_weights, and RunError with `path`.averages where averages are wanted and there
  // are none.
  CheckpointWeights(const std::filesystem::path& given, std::optional<std::int64_t> step,
                    std::optional<bool> averages, const std::string& path);

  const std::filesystem::path& file() const { return file_; }  // model.safetensors
  std::span<const SafetensorsEntry> entries() const { return entries_; }
  bool is_average(const std::string& name) const { return averaged_.contains(name); }
  // As the manifest beside the weights says it.
  std::optional<std::int64_t> step() const;

 private:
  void take_averages(const std::filesystem::path& file);

  std::filesystem::path file_;
  SafetensorsFile weights_;
  DequantizedEntries dequantized_;
  std::unique_ptr<SafetensorsFile> averages_;
  std::vector<SafetensorsEntry> entries_;
  std::set<std::string> averaged_;
};

}  // namespace trivet::detail
