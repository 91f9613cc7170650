// SPDX-License-Identifier: Apache-2.0
#include "data/tables/record_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "data/images/resize.h"
#include "trivet/backend/backend.h"
#include "trivet/error.h"
#include "trivet/tensor.h"
#include "trivet/text/strings.h"

namespace trivet::data {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

bool is_i32(double value) {
  return value == std::floor(value) && value >= std::numeric_limits<std::int32_t>::min() &&
         value <= std::numeric_limits<std::int32_t>::max();
}

// Fills what follows the first `count` elements, and returns those.
template <class T>
std::span<T> padded(std::span<T> out, std::size_t count, const std::optional<double>& value) {
  if (value) std::ranges::fill(out.subspan(count), static_cast<T>(*value));
  return out.first(count);
}

// The message's own names, which people know from the code that wrote the records.
std::string_view list_name(FeatureKind kind) {
  if (kind == FeatureKind::bytes) return "bytes_list";
  return kind == FeatureKind::floats ? "float_list" : "int64_list";
}

}  // namespace

std::int64_t FieldConfig::size() const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(elements, extent, &elements)) return kMostElements + 1;
  }
  return elements;
}

void FieldConfig::validate(Diagnostics& diagnostics) const {
  if (std::ssize(shape) >= TV_MAX_RANK) {
    diagnostics.add("shape", "has " + count_of(std::ssize(shape), "axis", "axes"),
                    "at most " + std::to_string(TV_MAX_RANK - 1));
  } else if (size() > kMostElements) {
    diagnostics.add("shape", "has more than 2^28 elements");
  }
  if (encoding == FieldEncoding::image) {
    if (shape.size() != 3 || (shape[2] != 1 && shape[2] != 3) || shape[0] > 65535 ||
        shape[1] > 65535) {
      diagnostics.add("shape", "is not that of an image",
                      "[height, width, channels], with 1 channel for gray or 3 for RGB");
    }
    if (dtype != FieldType::f32) diagnostics.add("dtype", "is i32, but images are f32");
  }
  if (pad_value && encoding != FieldEncoding::numbers) {
    diagnostics.add("pad_value", "is set, and encoding is not \"numbers\"",
                    "only lists of numbers are padded");
  }
  if (dtype != FieldType::i32) return;
  if (scale) diagnostics.add("scale", "is set, but dtype is i32", "only f32 values are scaled");
  if (default_value && !is_i32(*default_value)) {
    diagnostics.add("default_value", "is not an integer of 32 bits, but dtype is i32");
  }
  if (pad_value && !is_i32(*pad_value)) {
    diagnostics.add("pad_value", "is not an integer of 32 bits, but dtype is i32");
  }
}

RecordFields::RecordFields(const Map<FieldConfig>& fields) {
  for (const auto& entry : fields) {
    const std::string& name = entry.first;
    const FieldConfig& config = entry.second;
    const double usual = config.encoding == FieldEncoding::numbers ? 1 : 1.0 / 255;
    Field field{name, config.feature.empty() ? name : config.feature, config, config.size(),
                config.scale.value_or(usual)};
    names_.emplace(field.feature, names_.size());
    fields_.push_back(std::move(field));
  }
  values_.resize(names_.size());
}

Batch RecordFields::batch(std::int64_t rows) const {
  Batch batch;
  for (const Field& field : fields_) {
    std::vector<std::int64_t> extents = {rows};
    extents.insert(extents.end(), field.config.shape.begin(), field.config.shape.end());
    const bool is_float = field.config.dtype == FieldType::f32;
    batch.set(field.name, Tensor::host(Shape(extents), is_float ? DType::f32 : DType::i32));
  }
  return batch;
}

void RecordFields::read(std::string_view record, const std::string& location, Batch& batch,
                        std::int64_t row) {
  read_feature_values(record, location, names_, values_);
  for (const Field& field : fields_) {
    const FeatureValues& values = values_[names_.at(field.feature)];
    Tensor tensor = batch.at(field.name);
    const auto at = static_cast<std::size_t>(row * field.size),
               size = static_cast<std::size_t>(field.size);
    if (field.config.dtype == FieldType::f32) {
      fill(field, values, location, tensor.mutable_span<float>().subspan(at, size));
    } else {
      fill(field, values, location, tensor.mutable_span<std::int32_t>().subspan(at, size));
    }
  }
}

void RecordFields::refuse(const std::string& location, const Field& field, const std::string& what,
                          std::string hint) {
  throw InputError(location + ": the feature '" + field.feature + "' " + what,
                   {.hint = std::move(hint)});
}

bool RecordFields::check(const Field& field, const FeatureValues& values,
                         const std::string& location) const {
  if (values.size() == 0) {
    if (field.config.default_value) return false;
    if (field.config.pad_value && values.kind != FeatureKind::none) return true;
    refuse(location, field, values.kind == FeatureKind::none ? "is missing" : "has no value",
           "default_value gives such records a value");
  }
  const bool is_list = field.config.encoding == FieldEncoding::numbers;
  if (is_list == (values.kind == FeatureKind::bytes)) {
    refuse(location, field, "is of the kind " + std::string(list_name(values.kind)),
           is_list ? "encoding = \"bytes\" or \"image\" reads texts"
                   : "encoding = \"numbers\" reads lists of numbers");
  }
  if (field.config.dtype == FieldType::i32 && values.kind == FeatureKind::floats) {
    refuse(location, field, "is of the kind float_list, but dtype is i32", "set dtype = \"f32\"");
  }
  const auto wanted = static_cast<std::size_t>(is_list ? field.size : 1);
  const bool is_padded = field.config.pad_value && values.size() < wanted;
  if (values.size() != wanted && !is_padded) {
    refuse(location, field,
           "has " +
               count_of(std::ssize(values.bytes) + std::ssize(values.floats) +
                            std::ssize(values.integers),
                        "value") +
               (is_list ? ", and its shape has " : ", and its encoding takes ") +
               std::to_string(wanted),
           is_list && values.size() < wanted ? "pad_value fills shorter lists" : "");
  }
  if (field.config.encoding == FieldEncoding::bytes && std::ssize(values.bytes[0]) != field.size) {
    refuse(location, field,
           "has " + count_of(std::ssize(values.bytes[0]), "byte") + ", and its shape has " +
               std::to_string(field.size));
  }
  return true;
}

void RecordFields::fill(const Field& field, const FeatureValues& values,
                        const std::string& location, std::span<float> out) const {
  if (!check(field, values, location)) {
    std::ranges::fill(out, static_cast<float>(*field.config.default_value));
    return;
  }
  const auto scaled = [&](double value) { return static_cast<float>(value * field.scale); };
  if (field.config.encoding == FieldEncoding::numbers) {
    out = padded(out, values.size(), field.config.pad_value);
  }
  if (values.kind == FeatureKind::floats) {
    std::ranges::transform(values.floats, out.begin(), scaled);
  } else if (values.kind == FeatureKind::integers) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int64_t value = values.integers[i];
      constexpr std::int64_t kExact = std::int64_t{1} << 24;
      if (value < -kExact || value > kExact) {
        refuse(location, field,
               "has the value " + std::to_string(value) + ", which f32 may not hold exactly",
               "set dtype = \"i32\"");
      }
      out[i] = scaled(static_cast<double>(value));
    }
  } else if (field.config.encoding == FieldEncoding::bytes) {
    std::ranges::transform(values.bytes[0], out.begin(),
                           [&](char byte) { return scaled(static_cast<unsigned char>(byte)); });
  } else {
    const std::string name = location + ": the feature '" + field.feature + "'";
    const std::vector<std::int64_t>& shape = field.config.shape;
    const Pixels pixels =
        resized(decode_image(name, values.bytes[0], shape[2]), shape[0], shape[1]);
    std::ranges::transform(pixels.values, out.begin(), scaled);
  }
}

void RecordFields::fill(const Field& field, const FeatureValues& values,
                        const std::string& location, std::span<std::int32_t> out) const {
  if (!check(field, values, location)) {
    std::ranges::fill(out, static_cast<std::int32_t>(*field.config.default_value));
    return;
  }
  if (field.config.encoding == FieldEncoding::bytes) {
    std::ranges::transform(values.bytes[0], out.begin(),
                           [](char byte) { return static_cast<unsigned char>(byte); });
    return;
  }
  out = padded(out, values.size(), field.config.pad_value);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t value = values.integers[i];
    if (!std::in_range<std::int32_t>(value)) {
      refuse(location, field, "has the value " + std::to_string(value) + ", which is not in i32",
             "write numbers of 32 bits into the records");
    }
    out[i] = static_cast<std::int32_t>(value);
  }
}

}  // namespace trivet::data
