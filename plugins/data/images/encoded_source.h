// SPDX-License-Identifier: Apache-2.0
// EncodedSource: examples of JPEG and PNG images, wherever their bytes are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/images/example_source.h"
#include "data/images/image_file.h"
#include "data/images/normalizer.h"

namespace trivet::data {

struct EncodedConfig : DatasetConfig {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::optional<double> center_crop_fraction;
  bool in_memory = true;
  Bytes limit = std::int64_t{4} << 30;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    EncodedConfig, DatasetConfig,
    (height, "Rows to resize images to, with width; 0: all must have the size of the first one.",
     at_least(0), at_most(65535)),
    (width, "Columns to resize images to, with height.", at_least(0), at_most(65535)),
    (channels, "1: gray, 3: RGB; others are converted. 0: those of the first image.", at_least(0),
     at_most(3)),
    (center_crop_fraction,
     "Resizes the square in the middle of each image alone, whose side is this share of the "
     "shorter side: 0.875 is usual in evaluation. Training with augment.random_resized_crop takes "
     "that part instead. Unset: the whole image is resized.",
     more_than(0), at_most(1)),
    (in_memory,
     "Decodes all images when the input is opened, and keeps a byte for each value; false: decodes "
     "an image whenever it is read."),
    (limit,
     "Most bytes of decoded images with in_memory. Also most bytes of compressed tar files "
     "together, when decompressed.",
     at_least(1)))

// Images that can be decoded one by one, at least one.
class EncodedImages {
 public:
  virtual ~EncodedImages() = default;
  EncodedImages(const EncodedImages&) = delete;
  EncodedImages& operator=(const EncodedImages&) = delete;

  virtual const std::string& name() const = 0;  // of all, for messages
  virtual std::int64_t count() const = 0;
  virtual std::string location(std::int64_t image) const = 0;
  virtual bool has_labels() const = 0;
  virtual std::int32_t label(std::int64_t image) const = 0;
  // As read_image_header and read_image.
  virtual Pixels header(std::int64_t image) const = 0;
  virtual Pixels pixels(std::int64_t image, std::int64_t channels) const = 0;
  // Nothing but names and labels is asked for from now on.
  virtual void release() {}

 protected:
  EncodedImages() = default;
};

class EncodedSource final : public ExampleSource {
 public:
  EncodedSource(const EncodedConfig& config, std::unique_ptr<EncodedImages> images);

  const std::string& name() const override { return images_->name(); }
  std::int64_t examples() const override { return images_->count(); }
  const Shape& example_shape() const override { return shape_; }
  bool has_labels() const override { return images_->has_labels(); }
  std::int32_t label(std::int64_t example) const override { return images_->label(example); }
  std::string location(std::int64_t example) const override { return images_->location(example); }

  // Without memory for the pixels only the headers are checked, so a damaged image is found when it
  // is read.
  void load() override;
  void read(std::int64_t example, std::span<float> out) override;
  bool has_bytes() const override { return true; }
  void read_bytes(std::int64_t example, std::span<std::uint8_t> out) override;
  void read_crop(std::int64_t example, const ChooseCrop& choose,
                 std::span<std::uint8_t> out) override;
  void check_crops() const override;
  void normalize(std::span<const std::uint8_t> bytes, std::span<float> out) const override {
    normalizer_.bytes(bytes, out);
  }

 private:
  void check(std::int64_t example, const Pixels& image) const;
  Pixels decode(std::int64_t example) const;
  std::span<const std::uint8_t> kept(std::int64_t example) const;

  const EncodedConfig config_;
  std::unique_ptr<EncodedImages> images_;
  Shape shape_;
  Normalizer normalizer_;
  std::vector<std::uint8_t> pixels_;  // of all images, with in_memory
};

}  // namespace trivet::data
