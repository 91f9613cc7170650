// SPDX-License-Identifier: Apache-2.0
// data/Records: TFRecord files of tf.Example, by the features that a table names. A batch has a
// field [batch, shape...] of each, and "weight" f32 [batch]: 1, or the example's where a field has
// that name, and 0 for padding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/formats/record_files_index.h"
#include "data/tables/record_fields.h"
#include "trivet/data/example_sampler.h"
#include "trivet/extensions/example_locations.h"
#include "trivet/input.h"

namespace trivet::data {

struct RecordsConfig : InputConfig {
  std::vector<Path> files;
  Map<FieldConfig> features;
  bool check_all = true;
  Bytes limit = std::int64_t{4} << 30;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    RecordsConfig, trivet::InputConfig,
    (files,
     "TFRecord files of tf.Example records and patterns (*, ?, [a-z]), read in the order of their "
     "names. Records stay on disk where the file is plain; a gzip or zstd file is decompressed "
     "into memory.",
     required),
    (features, "Fields of a batch by name, and the features that they are made of.", required),
    (check_all,
     "Reads all records when the input is opened; false: the first one of each file, so a wrong "
     "one is found when it is read."),
    (limit, "Most bytes of compressed files together, when decompressed.", at_least(1)))

class RecordsInput final : public Input, public ExampleLocations {
 public:
  using Config = RecordsConfig;
  RecordsInput(const Config& config, InputContext& context);

  std::optional<Batch> get_next() override;
  void reset() override { order_.reset(); }
  Value save_state() const override { return order_.save_state(); }
  void restore_state(const Value& state) override { order_.restore_state(state, name_); }
  std::optional<std::int64_t> batches_per_epoch() const override {
    return order_.batches_per_epoch();
  }
  const void* extension(std::string_view id) const noexcept override;
  std::vector<std::string> locations() const override;

 private:
  void check_records(bool all);
  void check_weight(const Batch& batch, std::int64_t row, std::int64_t record) const;
  Tensor weights(const Batch& batch);

  std::string name_;
  RecordFilesIndex files_;
  RecordFields fields_;
  ExampleSampler order_;
  std::int64_t batch_size_;
  std::vector<ExampleSampler::Sample> samples_;
};

}  // namespace trivet::data
