// SPDX-License-Identifier: Apache-2.0
// JsonLine: a line with a JSON object as an example: texts, numbers and booleans are its features.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/value.h"
#include "trivet/data_source.h"

namespace trivet::data {

class JsonLine {
 public:
  // Throws InputError with the location for a line that is too long or no JSON object.
  void take(std::string_view line, std::string location);

  // Of the last line, until the next one.
  const SourceExample& example() const { return example_; }

 private:
  Value value_;
  std::vector<std::string> numbers_;  // for values without a text of their own
  SourceExample example_;
};

}  // namespace trivet::data
