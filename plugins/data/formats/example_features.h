// SPDX-License-Identifier: Apache-2.0
// All values of some features of a tf.Example (tfrecord_reader.h has its form).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trivet::data {

enum class FeatureKind { none, bytes, floats, integers };

// The values of one feature: of one kind, as the message has the last one.
struct FeatureValues {
  FeatureKind kind = FeatureKind::none;  // none: the example lacks it
  std::vector<std::string_view> bytes;   // views into the record
  std::vector<float> floats;
  std::vector<std::int64_t> integers;

  std::size_t size() const { return bytes.size() + floats.size() + integers.size(); }
  void clear();  // keeps the memory
};

// From a name to an index in `values`.
using FeatureNames = std::map<std::string, std::size_t, std::less<>>;

// Reads the features of `names`; `values` has an element for each index. Throws InputError with
// `location` if `record` is not a tf.Example, or has one of them twice.
void read_feature_values(std::string_view record, const std::string& location,
                         const FeatureNames& names, std::vector<FeatureValues>& values);

}  // namespace trivet::data
