// SPDX-License-Identifier: Apache-2.0
// RecordFields: the fields of a batch, made of the features of tf.Example records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/example_features.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/tensor/nested_map.h"

namespace trivet::data {

enum class FieldType { f32, i32 };
TRIVET_ENUM(FieldType, f32, i32)

// How a feature holds its values.
enum class FieldEncoding {
  numbers,  // a list of floats or integers, one for each element
  bytes,    // one text, whose bytes are the elements
  image,    // one text, which is a JPEG or PNG file
};
TRIVET_ENUM(FieldEncoding, numbers, bytes, image)

struct FieldConfig {
  std::string feature{};
  std::vector<std::int64_t> shape{};
  FieldType dtype = FieldType::f32;
  FieldEncoding encoding = FieldEncoding::numbers;
  std::optional<double> scale{};
  std::optional<double> default_value{};
  std::optional<double> pad_value{};

  void validate(Diagnostics& diagnostics) const;
  std::int64_t size() const;  // elements
};
TRIVET_CONFIG(
    FieldConfig, trivet::NoBase,
    (feature, "Name of the feature in the records; empty: that of the field."),
    (shape, "Extents of one example; empty: one number.", at_least(1), at_most(1 << 24)),
    (dtype, "Type of the field: i32 takes integers only, f32 also those that it holds exactly."),
    (encoding,
     "How a feature holds the values. bytes: of 0 to 255; image: JPEG or PNG, resized to shape = "
     "[height, width, channels]."),
    (scale, "Factor of f32 values. Default: 1/255 for bytes and images, 1 for numbers."),
    (default_value,
     "Value of all elements where a record lacks the feature or has no value in it; unset: such "
     "records are refused."),
    (pad_value,
     "Fills a list of numbers that is shorter than the shape; unset: such a list is refused. It is "
     "not scaled."))

class RecordFields {
 public:
  explicit RecordFields(const Map<FieldConfig>& fields);

  // A batch of zeros of all fields.
  Batch batch(std::int64_t rows) const;
  // Makes row `row` of the batch. Throws InputError, with `location` and the feature, for a record
  // that does not have the form of the fields.
  void read(std::string_view record, const std::string& location, Batch& batch, std::int64_t row);

 private:
  struct Field {
    std::string name, feature;
    FieldConfig config;
    std::int64_t size = 0;
    double scale = 1;
  };
  [[noreturn]] static void refuse(const std::string& location, const Field& field,
                                  const std::string& what, std::string hint = {});
  void fill(const Field& field, const FeatureValues& values, const std::string& location,
            std::span<float> out) const;
  void fill(const Field& field, const FeatureValues& values, const std::string& location,
            std::span<std::int32_t> out) const;
  // Whether the feature has values; throws unless they are as many, or fewer with a pad_value, and
  // of the right kind.
  bool check(const Field& field, const FeatureValues& values, const std::string& location) const;

  std::vector<Field> fields_;
  FeatureNames names_;
  std::vector<FeatureValues> values_;
};

}  // namespace trivet::data
