// SPDX-License-Identifier: Apache-2.0
#include "data/images/encoded_source.h"

#include <algorithm>
#include <utility>

#include "data/images/resize.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

Shape shape_of(const EncodedConfig& config, const EncodedImages& images) {
  const Pixels first = images.header(0);
  return {config.height == 0 ? first.height : config.height,
          config.width == 0 ? first.width : config.width,
          config.channels == 0 ? first.channels : config.channels};
}

}  // namespace

void EncodedConfig::validate(Diagnostics& diagnostics) const {
  DatasetConfig::validate(diagnostics);
  if ((height == 0) != (width == 0)) {
    diagnostics.add(height == 0 ? "height" : "width", "is 0, and the other one is set",
                    "set both to resize images, or none");
  }
  if (center_crop_fraction && height == 0) {
    diagnostics.add("center_crop_fraction", "is set, but height and width are not",
                    "set them to the size of the batch's images");
  }
  if (channels == 2) diagnostics.add("channels", "is 2", "images have 1 channel or 3");
}

EncodedSource::EncodedSource(const EncodedConfig& config, std::unique_ptr<EncodedImages> images)
    : config_(config),
      images_(std::move(images)),
      shape_(shape_of(config, *images_)),
      normalizer_(config, 1.0 / 255, shape_[-1], images_->name()) {}

void EncodedSource::load() {
  if (!config_.in_memory) {
    for (std::int64_t i = 0; i < examples(); ++i) check(i, images_->header(i));
    return;
  }
  const auto each = static_cast<std::size_t>(shape_.size());
  const auto count = static_cast<std::size_t>(examples());
  if (count > static_cast<std::size_t>(config_.limit.count) / each) {
    throw InputError(name() + ": " + std::to_string(count) + " images of " + std::to_string(each) +
                         " bytes are more than limit = " + std::to_string(config_.limit.count),
                     {.hint = "set in_memory = false, or a larger limit"});
  }
  pixels_.reserve(count * each);
  for (std::int64_t i = 0; i < examples(); ++i) {
    const Pixels decoded = decode(i);
    pixels_.insert(pixels_.end(), decoded.values.begin(), decoded.values.end());
  }
  images_->release();
}

void EncodedSource::read(std::int64_t example, std::span<float> out) {
  if (!config_.in_memory) return normalize(decode(example).values, out);
  normalize(kept(example), out);
}

void EncodedSource::read_bytes(std::int64_t example, std::span<std::uint8_t> out) {
  if (!config_.in_memory) {
    std::ranges::copy(decode(example).values, out.begin());
  } else {
    std::ranges::copy(kept(example), out.begin());
  }
}

void EncodedSource::check_crops() const {
  if (!config_.in_memory) return;
  throw InputError(name() + ": augment.random_resized_crop takes parts of the files' own pixels, " +
                       "and in_memory keeps the resized images alone",
                   {.hint = "set the input's in_memory = false"});
}

void EncodedSource::read_crop(std::int64_t example, const ChooseCrop& choose,
                              std::span<std::uint8_t> out) {
  const Pixels image = images_->pixels(example, shape_[2]);
  check(example, image);
  const Crop part = choose(image.height, image.width);
  std::ranges::copy(resized(image, part, shape_[0], shape_[1]).values, out.begin());
}

std::span<const std::uint8_t> EncodedSource::kept(std::int64_t example) const {
  const auto each = static_cast<std::size_t>(shape_.size());
  return std::span(pixels_).subspan(static_cast<std::size_t>(example) * each, each);
}

void EncodedSource::check(std::int64_t example, const Pixels& image) const {
  if (config_.height > 0 || (image.height == shape_[0] && image.width == shape_[1])) return;
  throw InputError(location(example) + ": has " + std::to_string(image.height) + " x " +
                       std::to_string(image.width) + " pixels, " + location(0) + " has " +
                       std::to_string(shape_[0]) + " x " + std::to_string(shape_[1]),
                   {.hint = "set height and width to resize the images"});
}

Pixels EncodedSource::decode(std::int64_t example) const {
  const Pixels image = images_->pixels(example, shape_[2]);
  check(example, image);
  if (!config_.center_crop_fraction) return resized(image, shape_[0], shape_[1]);
  const Crop part = center_crop(*config_.center_crop_fraction, image.height, image.width);
  return resized(image, part, shape_[0], shape_[1]);
}

}  // namespace trivet::data
