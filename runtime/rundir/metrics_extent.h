// SPDX-License-Identifier: Apache-2.0
// The extent of metrics.jsonl. A checkpoint stores it to detect lost records later. It ignores
// rates and times, so that the state of a checkpoint depends only on config and step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "trivet/config/value.h"
#include "trivet/os/file.h"

namespace trivet {

class MetricsExtent {
 public:
  // Counts the lines that were added since the last call, up to `most` in total.
  void extend(const UniqueFd& file, const std::filesystem::path& path,
              std::uint64_t most = UINT64_MAX);

  Value to_value() const;  // {"lines", "crc32"}
  std::uint64_t lines() const { return lines_; }

 private:
  void take(std::string_view line);

  std::uint64_t bytes_ = 0, lines_ = 0;
  std::uint32_t crc_ = 0;
};

// The difference between the start of the file and the recorded one. Empty if equal.
std::string loss_since(const Value& before, const UniqueFd& file,
                       const std::filesystem::path& path);

}  // namespace trivet
