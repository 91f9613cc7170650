// SPDX-License-Identifier: Apache-2.0
#include "data/images/image_records_input.h"

#include <limits>
#include <utility>

#include "data/formats/example_features.h"
#include "data/formats/file_list.h"
#include "data/formats/record_files_index.h"
#include "data/images/given_images.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

class RecordImages final : public EncodedImages {
 public:
  explicit RecordImages(const ImageRecordsConfig& config)
      : files_(list_files(config.files), static_cast<std::uint64_t>(config.limit.count)),
        image_feature_(config.image_feature),
        label_feature_(config.label_feature),
        names_{{image_feature_, kImage}} {
    if (!config.labels) return;
    names_.emplace(label_feature_, kLabel);
    labels_.reserve(static_cast<std::size_t>(files_.records()));
    for (std::int64_t i = 0; i < files_.records(); ++i) labels_.push_back(read_label(config, i));
  }

  const std::string& name() const override { return files_.name(); }
  std::int64_t count() const override { return files_.records(); }
  std::string location(std::int64_t image) const override { return files_.location(image); }
  bool has_labels() const override { return !labels_.empty(); }
  std::int32_t label(std::int64_t image) const override {
    return labels_[static_cast<std::size_t>(image)];
  }
  Pixels header(std::int64_t image) const override {
    return decode_image_header(location(image), encoded(image));
  }
  Pixels pixels(std::int64_t image, std::int64_t channels) const override {
    return decode_image(location(image), encoded(image), channels);
  }

 private:
  enum Index : std::size_t { kImage, kLabel };

  std::vector<FeatureValues> features(std::int64_t record) const {
    std::vector<FeatureValues> values(names_.size());
    read_feature_values(files_.record(record), location(record), names_, values);
    return values;
  }

  [[noreturn]] void refuse(std::int64_t record, const std::string& feature, const char* what,
                           const char* field) const {
    throw InputError(location(record) + ": the feature '" + feature + "' " + what,
                     {.hint = std::string(field) + " names the feature"});
  }

  std::string_view encoded(std::int64_t record) const {
    const FeatureValues image = features(record)[kImage];
    if (image.kind != FeatureKind::bytes || image.bytes.size() != 1) {
      refuse(record, image_feature_,
             image.kind == FeatureKind::none ? "is missing" : "is not the bytes of one image",
             "image_feature");
    }
    return image.bytes[0];
  }

  std::int32_t read_label(const ImageRecordsConfig& config, std::int64_t record) const {
    const FeatureValues label = features(record)[kLabel];
    if (label.kind != FeatureKind::integers || label.integers.size() != 1) {
      refuse(record, label_feature_,
             label.kind == FeatureKind::none ? "is missing" : "is not one whole number",
             "label_feature");
    }
    const std::int64_t number = label.integers[0], first = config.first_label;
    const std::int64_t classes =
        config.num_classes > 0 ? config.num_classes : std::numeric_limits<std::int32_t>::max();
    if (number < first || number - first >= classes) {
      const bool is_above = number >= first && config.num_classes > 0;
      throw InputError(
          location(record) + ": has the label " + std::to_string(number) +
              (is_above
                   ? ", not below first_label + num_classes = " + std::to_string(first + classes)
                   : ", outside the numbers of classes, which begin with first_label = " +
                         std::to_string(first)),
          {.hint = "set num_classes and first_label to what the records have"});
    }
    return static_cast<std::int32_t>(number - first);
  }

  RecordFilesIndex files_;
  std::string image_feature_, label_feature_;
  FeatureNames names_;
  std::vector<std::int32_t> labels_;
};

std::unique_ptr<EncodedSource> record_source(const ImageRecordsConfig& config,
                                             const InputContext& context) {
  std::unique_ptr<EncodedImages> images = given_images(context);
  if (images == nullptr) images = std::make_unique<RecordImages>(config);
  return std::make_unique<EncodedSource>(config, std::move(images));
}

}  // namespace

void ImageRecordsConfig::validate(Diagnostics& diagnostics) const {
  EncodedConfig::validate(diagnostics);
  if (files.empty()) diagnostics.add("files", "is empty");
  const ImageRecordsConfig usual;
  if (!labels && first_label != usual.first_label) {
    diagnostics.add("first_label", "is set, but labels is false", "remove one of them");
  }
  if (!labels && label_feature != usual.label_feature) {
    diagnostics.add("label_feature", "is set, but labels is false", "remove one of them");
  }
  if (labels && label_feature == image_feature) {
    diagnostics.add("label_feature", "is the feature of the image, too", "name another one");
  }
}

ImageRecordsInput::ImageRecordsInput(const Config& own, InputContext& context)
    : ExampleInput(given_config(own, context, &Config::files), context,
                   record_source(given_config(own, context, &Config::files), context)) {}

const void* ImageRecordsInput::extension(std::string_view id) const noexcept {
  if (id == kInputExamples) return static_cast<const ExampleLocations*>(this);
  return Input::extension(id);
}

}  // namespace trivet::data
