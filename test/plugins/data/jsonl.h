// SPDX-License-Identifier: Apache-2.0
// A file of JSON lines as a source, for inputs over any source.
#pragma once

#include <string>

#include "support/plugins.h"
#include "support/shell.h"
#include "trivet/data_source.h"

namespace trivet::test {

inline ConfigOf<DataSource> jsonl_source(const TempDir& dir, const std::string& lines) {
  use_plugin("data");
  const auto file = dir.write("examples.jsonl", lines);
  return {"data/Jsonl", Value::table({{"files", Value::array({file.string()})}})};
}

}  // namespace trivet::test
