// SPDX-License-Identifier: Apache-2.0
// The pixels of magnitude 10: those of the config, or in proportion to the image.
#include "data/augmentation/operation_reach.h"

#include <catch2/catch.hpp>

namespace data = trivet::data;

TEST_CASE("the reach of operations may be given in pixels") {
  const data::OperationReach given(250.0, 100.0, 56, 112);
  CHECK(given.translate_x == 250);
  CHECK(given.translate_y == 250);
  CHECK(given.cutout == 100);
  const data::OperationReach sides(std::nullopt, std::nullopt, 56, 112);
  CHECK(sides.translate_x == 50);
  CHECK(sides.translate_y == 25);
  CHECK(sides.cutout == 10);
  // Model Garden's constants for its images.
  const data::OperationReach usual(std::nullopt, std::nullopt, 224, 224);
  CHECK(usual.translate_x == 100);
  CHECK(usual.translate_y == 100);
  CHECK(usual.cutout == 40);
}
