// SPDX-License-Identifier: Apache-2.0
// The configs of all inputs, through the round-trip check that plugin authors use, and their rules.
#include <catch2/catch.hpp>

#include "data/images/image_config.h"
#include "plugins/config_round_trip.h"
#include "trivet/error.h"

namespace data = trivet::data;
using trivet::test::check_round_trip;

TEST_CASE("the configs of inputs survive the way to a file and back") {
  data::IdxConfig idx;
  idx.batch_size = 4;
  idx.images = trivet::Path("images.gz");
  idx.labels = trivet::Path("labels.gz");
  idx.scale = 0.5;
  idx.mean = {1, 2, 3};
  idx.augment = {.crop_padding = 2, .horizontal_flip = true};
  idx.augment.color_jitter = {.brightness = 0.1, .contrast = 0.2, .saturation = 0.3};
  idx.augment.rand_augment = data::RandAugmentConfig{
      .magnitude = 7, .exclude_ops = {data::ImageOperation::Cutout}, .cutout_const = 3};
  idx.augment.random_erasing = data::RandomErasingConfig{.max_aspect = 4};
  check_round_trip(idx);
  idx.augment.rand_augment.reset();
  idx.augment.auto_augment =
      data::AutoAugmentConfig{.policies = {{{data::ImageOperation::Rotate, 0.5, 3},
                                            {data::ImageOperation::Invert, 1, {}}}}};
  check_round_trip(idx);
  data::NpyConfig npy;
  npy.batch_size = 4;
  npy.images = trivet::Path("images.npy");
  check_round_trip(npy);
  data::SyntheticConfig synthetic;
  synthetic.batch_size = 4;
  synthetic.image_shape = {4, 5, 3};
  synthetic.split = "other";
  check_round_trip(synthetic);
}

TEST_CASE("a synthetic image has height, width and depth, and the rules of all inputs hold") {
  data::SyntheticConfig config;
  config.image_shape = {28, 28};
  config.infeed_host_index = 2;
  trivet::Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 2);
  CHECK(diagnostics.list()[0].path == "infeed_host_index");
  CHECK(diagnostics.list()[1].path == "image_shape");
}
