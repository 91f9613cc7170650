// SPDX-License-Identifier: Apache-2.0
// data/ImageRecords: JPEG and PNG images in TFRecord files of tf.Example records, in the form of
// Model Garden's ImageNet: "image/encoded" has the bytes of the image, "image/class/label" the
// number of its class.
#pragma once

#include "data/images/encoded_source.h"

namespace trivet::data {

struct ImageRecordsConfig : EncodedConfig {
  std::vector<Path> files;
  bool labels = true;
  std::string image_feature = "image/encoded";
  std::string label_feature = "image/class/label";
  std::int64_t first_label = 0;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    ImageRecordsConfig, EncodedConfig,
    (files,
     "TFRecord files and patterns (*, ?, [a-z]), read in the order of their names. Records stay on "
     "disk where the file is plain; a gzip or zstd file is decompressed into memory.",
     required),
    (labels, "false: images are examples without labels."),
    (image_feature, "Feature with the bytes of a JPEG or PNG file."),
    (label_feature, "Feature with the number of the class."),
    (first_label,
     "Number in the records of the first class, which is class 0 in batches: 1 for records that "
     "count from 1.",
     at_least(0)))

class ImageRecordsInput final : public ExampleInput {
 public:
  using Config = ImageRecordsConfig;
  ImageRecordsInput(const Config& own, InputContext& context);
  const void* extension(std::string_view id) const noexcept override;
};

}  // namespace trivet::data
