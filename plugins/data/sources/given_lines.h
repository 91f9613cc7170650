// SPDX-License-Identifier: Apache-2.0
// GivenLines: examples to predict that a user gives, lines of JSON objects, as they come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trivet/data_source.h"
#include "trivet/input.h"
#include "trivet/os/line_stream.h"

namespace trivet::data {

class GivenLines final : public DataSource {
 public:
  // "-" is standard input.
  explicit GivenLines(const std::string& file) : lines_(file) {}

  // The next examples: waits for one, and takes up to `most` that have come. False at the end.
  bool take(std::int64_t most);
  // Of each example that was taken last: "people.jsonl:3".
  const std::vector<std::string>& locations() const { return locations_; }

  const std::string& name() const override { return lines_.name(); }
  std::uint64_t bytes() const override;
  // Those that were taken last.
  void read(const Visit& visit) override;

 private:
  LineStream lines_;
  std::vector<std::string> texts_, locations_;
};

// The source of an input's own data; null where `context` names examples to read in its place, for
// then the data need not exist.
std::shared_ptr<DataSource> own_source(const ConfigOf<DataSource>& config,
                                       const InputContext& context);
// For messages. `source` may be null.
std::string name_of(const DataSource* source);

}  // namespace trivet::data
