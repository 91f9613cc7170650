// SPDX-License-Identifier: Apache-2.0
// data/TextFiles: text files as documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/source_config.h"
#include "trivet/data_source.h"

namespace trivet::data {

// Returns the share [begin, end] of a text, cut before whole UTF-8 characters. Adjacent shares
// neither overlap nor leave a gap.
std::string_view part_of(std::string_view text, double begin, double end);

// Keeps a few invalid UTF-8 bytes unchanged, since tokenizers accept any bytes.
class TextFiles final : public DataSource {
 public:
  using Config = TextFilesConfig;
  explicit TextFiles(const Config& config);

  const std::string& name() const override { return name_; }
  std::uint64_t bytes() const override;
  void read(const Visit& visit) override;

 private:
  void read_lines(std::string_view text, std::int64_t line, const std::string& file,
                  const Visit& visit) const;

  std::vector<std::string> files_;
  std::string name_;
  Documents documents_;
  Encoding encoding_;
  double part_begin_, part_end_;
};

}  // namespace trivet::data
