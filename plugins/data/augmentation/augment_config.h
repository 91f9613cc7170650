// SPDX-License-Identifier: Apache-2.0
// The config of random changes of training images. All of them are off by default. An image is
// changed in this order:
//
//   random_resized_crop              bytes: a part of the image, resized
//   crop_padding, horizontal_flip    a crop of the padded image, or its mirror image (He et al. 2016)
//   color_jitter                     bytes: brightness, contrast, saturation
//   rand_augment or auto_augment     bytes: operations that are drawn
//   the normalization of the input
//   random_erasing                   normalized values: rectangles of noise
//   mixup and CutMix                 with another image
//
// Names and defaults are those of Model Garden's RandAugment, AutoAugment and RandomErasing, and of
// torchvision's RandomResizedCrop.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trivet/config.h"

namespace trivet::data {

struct RandomResizedCropConfig {
  double min_area = 0.08;
  double max_area = 1;
  double min_aspect = 3.0 / 4;
  double max_aspect = 4.0 / 3;
  std::int64_t trials = 10;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(RandomResizedCropConfig, trivet::NoBase,
              (min_area, "Least share of the image's area that the part has.", more_than(0),
               at_most(1)),
              (max_area, "Largest share of the image's area.", more_than(0), at_most(1)),
              (min_aspect, "Least width of the part, divided by its height.", more_than(0)),
              (max_aspect, "Largest width divided by the height.", more_than(0)),
              (trials,
               "Draws of an area and an aspect, until one fits into the image. Where none fits, "
               "the part is the largest one in the middle with such an aspect.",
               at_least(1), at_most(1000)))

struct ColorJitterConfig {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
};
TRIVET_CONFIG(
    ColorJitterConfig, trivet::NoBase,
    (brightness,
     "Multiplies the values of an image by a random factor from [1 - x, 1 + x], not below "
     "0. 0: off.",
     at_least(0), at_most(100)),
    (contrast,
     "Multiplies the difference of values to the image's mean gray by a random factor, "
     "as brightness. 0: off.",
     at_least(0), at_most(100)),
    (saturation,
     "Multiplies the difference of colors to the gray of their pixel by a random factor, "
     "as brightness. 0: off.",
     at_least(0), at_most(100)))

enum class ErasingFill {
  noise,  // from the standard normal distribution, for each value of each pixel
  zero,
};
TRIVET_ENUM(ErasingFill, noise, zero)

struct RandomErasingConfig {
  double probability = 0.25;
  double min_area = 0.02;
  double max_area = 1.0 / 3;
  double min_aspect = 0.3;
  std::optional<double> max_aspect{};
  std::int64_t min_count = 1;
  std::int64_t max_count = 1;
  std::int64_t trials = 10;
  ErasingFill fill = ErasingFill::noise;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    RandomErasingConfig, trivet::NoBase,
    (probability, "Probability that an image is changed.", between(0.0, 1.0)),
    (min_area, "Least share of the image's area that a rectangle has.", more_than(0), at_most(1)),
    (max_area, "Largest share of the image's area.", more_than(0), at_most(1)),
    (min_aspect, "Least height of a rectangle, divided by its width.", more_than(0)),
    (max_aspect, "Largest height divided by the width. Default: 1 / min_aspect.", more_than(0)),
    (min_count, "Least number of rectangles in an image that is changed.", at_least(1)),
    (max_count, "Largest number of rectangles.", at_least(1), at_most(1000)),
    (trials,
     "Draws of a rectangle's area and aspect, until one fits into the image. None is erased if "
     "none "
     "fits.",
     at_least(1), at_most(1000)),
    (fill,
     "Values of the rectangle in normalized units: noise of mean 0 and standard deviation 1, or "
     "zero."))

// The operations of RandAugment and AutoAugment, see operation.h.
enum class ImageOperation {
  AutoContrast,
  Equalize,
  Invert,
  Rotate,
  Posterize,
  Solarize,
  SolarizeAdd,
  Color,
  Contrast,
  Brightness,
  Sharpness,
  ShearX,
  ShearY,
  TranslateX,
  TranslateY,
  Cutout,
};
TRIVET_ENUM(ImageOperation, AutoContrast, Equalize, Invert, Rotate, Posterize, Solarize,
            SolarizeAdd, Color, Contrast, Brightness, Sharpness, ShearX, ShearY, TranslateX,
            TranslateY, Cutout)

struct RandAugmentConfig {
  std::int64_t num_layers = 2;
  double magnitude = 10;
  double magnitude_std = 0;
  double prob_to_apply = 1;
  std::vector<ImageOperation> exclude_ops{};
  std::optional<double> translate_const{};
  std::optional<double> cutout_const{};

  // All but those of exclude_ops.
  std::vector<ImageOperation> operations() const;
  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    RandAugmentConfig, trivet::NoBase,
    (num_layers, "Operations that are drawn for an image, and applied one after the other.",
     at_least(1), at_most(100)),
    (magnitude,
     "Strength of all operations; larger changes more, but for Posterize and Solarize. 10 is the "
     "largest.",
     between(0.0, 10.0)),
    (magnitude_std,
     "Standard deviation of a normal number that is added to the magnitude for each operation; the "
     "sum is limited to 0 to 10.",
     at_least(0), at_most(100)),
    (prob_to_apply, "Probability that an operation that was drawn is applied.", between(0.0, 1.0)),
    (exclude_ops, "Operations that are not drawn."),
    (translate_const,
     "Pixels that TranslateX and TranslateY move an image at magnitude 10. Default: 100 of 224, in "
     "proportion to the image's width or height.",
     at_least(0), at_most(65536)),
    (cutout_const,
     "Half the side of Cutout's square at magnitude 10, in pixels. Default: 40 of 224, in "
     "proportion to the image's shorter side.",
     at_least(0), at_most(65536)))

// See published_policies.h.
enum class AutoAugmentPolicy { v0, imagenet, cifar10, svhn };
TRIVET_ENUM(AutoAugmentPolicy, v0, imagenet, cifar10, svhn)

struct PolicyStepConfig {
  ImageOperation op = ImageOperation::AutoContrast;
  double probability = 1;
  std::optional<double> magnitude{};

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(PolicyStepConfig, trivet::NoBase, (op, "Operation.", required),
              (probability, "Probability that the operation is applied.", required,
               between(0.0, 1.0)),
              (magnitude,
               "Strength, as rand_augment.magnitude. AutoContrast, Equalize and Invert have none.",
               between(0.0, 10.0)))

struct AutoAugmentConfig {
  std::optional<AutoAugmentPolicy> policy{};
  std::vector<std::vector<PolicyStepConfig>> policies{};
  std::optional<double> translate_const{};
  std::optional<double> cutout_const{};

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    AutoAugmentConfig, trivet::NoBase,
    (policy,
     "Published policy (Cubuk et al. 2018): v0, Model Garden's for ImageNet, or that of the "
     "paper's "
     "table for imagenet, cifar10 or svhn. Default: policies."),
    (policies,
     "Sub-policies of your own, instead of policy: lists of operations that are applied one after "
     "the other. One of the lists is drawn for each image."),
    (translate_const,
     "Pixels that TranslateX and TranslateY move an image at magnitude 10. Default: 100 of 224, in "
     "proportion to the image's width or height.",
     at_least(0), at_most(65536)),
    (cutout_const,
     "Half the side of Cutout's square at magnitude 10, in pixels. Default: 40 of 224, in "
     "proportion to the image's shorter side.",
     at_least(0), at_most(65536)))

struct AugmentConfig {
  std::optional<RandomResizedCropConfig> random_resized_crop{};
  std::int64_t crop_padding = 0;
  bool horizontal_flip = false;
  ColorJitterConfig color_jitter{};
  std::optional<RandAugmentConfig> rand_augment{};
  std::optional<AutoAugmentConfig> auto_augment{};
  std::optional<RandomErasingConfig> random_erasing{};
  double mixup_alpha = 0;
  double cutmix_alpha = 0;
  double prob = 1;
  double switch_prob = 0.5;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    AugmentConfig, trivet::NoBase,
    (random_resized_crop,
     "Takes a random part of each image of bytes and resizes it. JPEG and PNG files need in_memory "
     "= false, and the part is of the file's own pixels. An empty table: with the defaults. "
     "Default: off."),
    (crop_padding,
     "Pixels of zero padding around the image, from which a random crop of the original "
     "size is taken.",
     at_least(0)),
    (horizontal_flip, "Mirrors each image left to right with probability 1/2."),
    (color_jitter,
     "Changes brightness, contrast and saturation of images of bytes, in this order."),
    (rand_augment,
     "Changes images of bytes by operations that are drawn at random (RandAugment, Cubuk et al. "
     "2019). An empty table: with the defaults. Default: off."),
    (auto_augment,
     "Changes images of bytes by one of the sub-policies of a policy (AutoAugment), instead of "
     "rand_augment. Default: off."),
    (random_erasing,
     "Replaces rectangles of the image by noise (Zhong et al. 2017). An empty table: with the "
     "defaults. Default: off."),
    (mixup_alpha,
     "Mixes each image and its label with another random example (mixup), in shares from "
     "Beta(alpha, alpha). 0: off.",
     at_least(0), at_most(1000)),
    (cutmix_alpha,
     "Replaces a rectangle of each image by the pixels of another random example (CutMix). "
     "The share of the area is from Beta(alpha, alpha), and the label is mixed by it. 0: "
     "off.",
     at_least(0), at_most(1000)),
    (prob, "Probability that an image is mixed or cut.", between(0.0, 1.0)),
    (switch_prob, "With both alphas: probability of CutMix instead of mixup.", between(0.0, 1.0)))

}  // namespace trivet::data
