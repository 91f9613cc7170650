// SPDX-License-Identifier: Apache-2.0
// data/TfRecord: tf.Example records as examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/sources/source_config.h"
#include "trivet/data_source.h"

namespace trivet::data {

class RecordFiles final : public DataSource {
 public:
  using Config = TfRecordConfig;
  explicit RecordFiles(const Config& config);

  const std::string& name() const override { return name_; }
  std::uint64_t bytes() const override;
  void read(const Visit& visit) override;

 private:
  std::vector<std::string> files_;
  std::string name_;
};

}  // namespace trivet::data
