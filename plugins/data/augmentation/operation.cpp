// SPDX-License-Identifier: Apache-2.0
#include "data/augmentation/operation.h"

#include <algorithm>
#include <cmath>

#include "data/augmentation/color_operations.h"
#include "data/augmentation/geometric_operations.h"

namespace trivet::data {
namespace {

double either_way(Draws& draws, double value) {
  return draws.chance(0.5) ? -value : value;
}

}  // namespace

bool uses_magnitude(ImageOperation operation) {
  return operation != ImageOperation::AutoContrast && operation != ImageOperation::Equalize &&
         operation != ImageOperation::Invert;
}

bool needs_gray(ImageOperation operation) {
  return operation == ImageOperation::Color || operation == ImageOperation::Contrast;
}

void apply_operation(ImageOperation operation, double magnitude, const OperationReach& reach,
                     Draws& draws, ImageBytes image) {
  const auto factor = static_cast<float>(0.1 + magnitude * 1.8 / 10);
  const auto cut = [&](double most) { return static_cast<int>(magnitude * most / 10); };
  const auto pixels = [&](double most) {
    return static_cast<std::int64_t>(std::lround(either_way(draws, magnitude * most / 10)));
  };
  switch (operation) {
    case ImageOperation::AutoContrast:
      return auto_contrast(image);
    case ImageOperation::Equalize:
      return equalize(image);
    case ImageOperation::Invert:
      return invert(image);
    case ImageOperation::Rotate:
      return rotate(image, either_way(draws, magnitude * 3));
    case ImageOperation::Posterize:
      return posterize(image, std::max(cut(4), 1));
    case ImageOperation::Solarize:
      return solarize(image, cut(256));
    case ImageOperation::SolarizeAdd:
      return solarize_add(image, cut(110));
    case ImageOperation::Color:
      return color(image, factor);
    case ImageOperation::Contrast:
      return contrast(image, factor);
    case ImageOperation::Brightness:
      return brightness(image, factor);
    case ImageOperation::Sharpness:
      return sharpness(image, factor);
    case ImageOperation::ShearX:
      return shear_x(image, either_way(draws, magnitude * 0.03));
    case ImageOperation::ShearY:
      return shear_y(image, either_way(draws, magnitude * 0.03));
    case ImageOperation::TranslateX:
      return translate_x(image, pixels(reach.translate_x));
    case ImageOperation::TranslateY:
      return translate_y(image, pixels(reach.translate_y));
    case ImageOperation::Cutout: {
      const std::int64_t y = draws.below(image.height), x = draws.below(image.width);
      return cutout(image, y, x, cut(reach.cutout));
    }
  }
}

}  // namespace trivet::data
