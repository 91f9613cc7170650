// SPDX-License-Identifier: Apache-2.0
// What inputs offer whose data can be kept in a form that is read faster: `trivet data prepare`
// asks for it. Such an input reads all of its data, of all hosts, and writes it once; another input
// reads the result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/value.h"
#include "trivet/input.h"

namespace trivet {

// Id for Input::extension; what it returns points to a PreparableInput.
inline constexpr std::string_view kInputPreparation = "trivet.input.preparation/1";

struct PreparedData {
  bool reused = false;  // it was there already, of the same data, and whole
  std::vector<std::filesystem::path> files;
  std::vector<std::string> facts;  // "1,115,394 tokens", for people
  Value input;                     // what to put into a config: {type = ..., files = ...}
};

class PreparableInput {
 public:
  // Writes into `directory`, which exists; files of an earlier preparation there are replaced, or
  // kept when they are what would be written. Files take about `shard_bytes` each. A kill leaves
  // nothing that a later call takes for whole. Throws InputError, RunError. [main-thread]
  virtual PreparedData prepare(const std::filesystem::path& directory,
                               std::uint64_t shard_bytes) const = 0;

 protected:
  ~PreparableInput() = default;
};

// The input as one that can be prepared, or null.
inline const PreparableInput* preparable_input(const Input& input) {
  return static_cast<const PreparableInput*>(input.extension(kInputPreparation));
}

}  // namespace trivet
