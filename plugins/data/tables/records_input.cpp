// SPDX-License-Identifier: Apache-2.0
#include "data/tables/records_input.h"

#include <cmath>
#include <utility>

#include "data/formats/file_list.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

// The config of an input that reads examples in place of its own records.
RecordsConfig records_config(RecordsConfig config, const InputContext& context) {
  if (context.examples.empty()) return config;
  if (context.examples == "-") {
    throw InputError("records are read from a file, not from standard input");
  }
  config.files = {Path(context.examples)};
  config.features.erase("label");
  config.features.erase("weight");
  config.shuffle = config.drop_remainder = false;
  config.epochs = 1;
  return config;
}

bool is_path(const std::string& name) {
  return !name.empty() && !name.starts_with('/') && !name.ends_with('/') &&
         name.find("//") == std::string::npos;
}

}  // namespace

void RecordsConfig::validate(Diagnostics& diagnostics) const {
  InputConfig::validate(diagnostics);
  if (files.empty()) diagnostics.add("files", "is empty");
  if (features.empty()) diagnostics.add("features", "has no field");
  for (const auto& [name, field] : features) {
    if (!is_path(name)) {
      diagnostics.add("features", "'" + name + "' is not the name of a field",
                      "names are parts between single '/', such as \"encoder/ids\"");
    }
  }
  const FieldConfig* weight = features.find("weight");
  if (weight == nullptr) return;
  if (!weight->shape.empty() || weight->dtype != FieldType::f32 ||
      weight->encoding != FieldEncoding::numbers) {
    diagnostics.add("features.weight", "is not one f32 number",
                    "the weight of an example is one number; give others another name");
  }
}

RecordsInput::RecordsInput(const Config& config, InputContext& context)
    : name_(context.name),
      files_(list_files(records_config(config, context).files),
             static_cast<std::uint64_t>(config.limit.count)),
      fields_(records_config(config, context).features),
      order_(records_config(config, context), context.phase, files_.records(), files_.name()),
      batch_size_(config.batch_size) {
  check_records(config.check_all);
}

// A run must not train for hours before it finds a wrong record.
void RecordsInput::check_records(bool all) {
  Batch one = fields_.batch(1);
  for (std::int64_t i = 0; i < files_.records(); ++i) {
    if (!all && !files_.begins_file(i)) continue;
    fields_.read(files_.record(i), files_.location(i), one, 0);
    check_weight(one, 0, i);
  }
}

void RecordsInput::check_weight(const Batch& batch, std::int64_t row, std::int64_t record) const {
  const Tensor* weight = batch.find("weight");
  if (weight == nullptr) return;
  const float value = weight->span<float>()[static_cast<std::size_t>(row)];
  if (std::isfinite(value) && value >= 0) return;
  throw InputError(files_.location(record) + ": has the weight " + std::to_string(value),
                   {.hint = "weights are 0 or more"});
}

std::optional<Batch> RecordsInput::get_next() {
  if (!order_.next(samples_)) return std::nullopt;
  Batch batch = fields_.batch(batch_size_);
  std::int64_t row = 0;
  for (const ExampleSampler::Sample& sample : samples_) {
    const std::int64_t record = sample.example;
    fields_.read(files_.record(record), files_.location(record), batch, row);
    check_weight(batch, row, record);
    ++row;
  }
  batch.set("weight", weights(batch));
  return batch;
}

// Padding has none, whatever the record says.
Tensor RecordsInput::weights(const Batch& batch) {
  Tensor padding = order_.weights(samples_);
  const Tensor* own = batch.find("weight");
  if (own == nullptr) return padding;
  Tensor weights = *own;
  const auto values = weights.mutable_span<float>();
  const auto shares = padding.span<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= shares[i];
  return weights;
}

std::vector<std::string> RecordsInput::locations() const {
  std::vector<std::string> locations;
  for (const ExampleSampler::Sample& sample : samples_) {
    locations.push_back(files_.location(sample.example));
  }
  return locations;
}

const void* RecordsInput::extension(std::string_view id) const noexcept {
  if (id == kInputExamples) return static_cast<const ExampleLocations*>(this);
  return Input::extension(id);
}

}  // namespace trivet::data
