// SPDX-License-Identifier: Apache-2.0
// An untrusted TFRecord file, and the same bytes as one tf.Example: refused, or its features lie
// within the bytes.
#include "data/formats/example_features.h"
#include "data/formats/tfrecord_reader.h"
#include "fuzz_target.h"
#include "plugins/data/records.h"
#include "trivet/error.h"

namespace trivet::test {
namespace {

bool accepts_example(std::string_view record) {
  try {
    std::vector<std::string> numbers;
    std::vector<SourceExample::Feature> features;
    data::read_example(record, "the record", numbers, features);
    promise(numbers.size() <= features.size(), "a number is of no feature");
    std::size_t sum = 0;
    for (const auto& feature : features) {
      for (const std::string_view text : {feature.name, feature.text}) {
        for (const char c : text) sum += static_cast<unsigned char>(c);
      }
    }
    promise(sum < record.size() * 256 * 64 + 1, "features are read");
    std::vector<data::FeatureValues> values(2);
    data::read_feature_values(record, "the record", {{"n", 0}, {"text", 1}}, values);
    promise(values[0].size() + values[1].size() <= record.size(), "values are of the record");
    return true;
  } catch (const InputError& refused) {
    promise(!refused.message().empty(), "a record is refused without a reason");
    return false;
  }
}

bool accepts_file(std::string_view bytes) {
  try {
    data::TfRecordReader reader(bytes, "file");
    std::string_view record;
    std::size_t read = 0;
    while (reader.next(record)) {
      accepts_example(record);
      read += record.size() + 16;
    }
    promise(read == bytes.size(), "bytes are left between records");
    return true;
  } catch (const InputError& refused) {
    promise(!refused.message().empty(), "a file is refused without a reason");
    return false;
  }
}

}  // namespace

bool accepts_records(std::string_view bytes) {
  const bool file = accepts_file(bytes), example = accepts_example(bytes);
  return file || example;
}

std::vector<std::string> record_seeds() {
  const std::string example = tf_example({{"text", bytes_feature({"hello", "world"})},
                                          {"n", packed_ints_feature({-1, 300})},
                                          {"m", ints_feature({7})},
                                          {"x", floats_feature({0.5F})}});
  return {framed(example) + framed("") + framed(example), framed(example), example};
}

}  // namespace trivet::test
