// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/checkpoint.h"

#include <limits>

#include <catch2/catch.hpp>

using trivet::checkpoint_name;
using trivet::parse_checkpoint_name;

TEST_CASE("the name of a checkpoint and its step belong to each other") {
  CHECK(checkpoint_name(1000) == "step_00001000");
  for (const std::int64_t step :
       {std::int64_t{0}, std::int64_t{7}, std::int64_t{99999999}, std::int64_t{100000000},
        std::numeric_limits<std::int64_t>::max()}) {
    CHECK(parse_checkpoint_name(checkpoint_name(step)) == step);
  }
}

TEST_CASE("what checkpoint_name() would not write is no name of a checkpoint") {
  for (const char* name : {"", "step_", "step_5", "step_-5", "step_-0000005", "step_+0000005",
                           "step_00000005.tmp", "step_ 0000005", "step_000000005", ".tmp_step_1",
                           "damaged_step_00000005", "step_99999999999999999999"}) {
    INFO(name);
    CHECK(parse_checkpoint_name(name) == std::nullopt);
  }
}
