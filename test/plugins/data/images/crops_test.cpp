// SPDX-License-Identifier: Apache-2.0
// Parts of the images of files: the square in the middle, and random parts in training. The value
// of each pixel is its number in the file.
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "data/images/idx_input.h"
#include "data/images/image_folder_input.h"
#include "plugins/data/files.h"
#include "support/images/image_files.h"

namespace crops_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Values = std::vector<float>;

namespace {

constexpr std::int64_t kHeight = 12, kWidth = 16;

std::vector<std::uint8_t> numbered_pixels() {
  std::vector<std::uint8_t> pixels(kHeight * kWidth);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  return pixels;
}

struct Folder {
  Folder() {
    temp.write("a/1.png", png_file(numbered_pixels(), {kHeight, kWidth}));
    temp.write("a/2.png", png_file(numbered_pixels(), {kHeight, kWidth}));
    config.path = temp.path().string();
    config.num_classes = 1;
    config.batch_size = 2;
    config.scale = 1;
  }
  TempDir temp;
  data::ImageFolderConfig config;
};

data::ImageFolderInput opened(const data::ImageFolderConfig& config, Phase phase) {
  InputContext context{.phase = phase, .name = "input"};
  return {config, context};
}

Values next(Input& input) {
  return input.get_next().value().at("image").to_host<float>();
}

// Parts of 48 pixels and aspect 4/3: 6 x 8, so that a batch of that size has pixels of the file.
data::RandomResizedCropConfig quarter() {
  return {.min_area = 0.25, .max_area = 0.25, .min_aspect = 4.0 / 3, .max_aspect = 4.0 / 3};
}

// The pixels of a part of 6 x 8 that starts with this one.
Values part_from(float first) {
  Values values;
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 8; ++column) {
      values.push_back(first + static_cast<float>(row * kWidth + column));
    }
  }
  return values;
}

}  // namespace

TEST_CASE("the square in the middle of an image is resized") {
  Folder folder;
  folder.config.height = folder.config.width = 2;
  folder.config.center_crop_fraction = 0.5;
  // A side of 6 from row 3 and column 5; 2 of 6 pixels are those with numbers 1 and 4.
  const Values wanted = {70, 73, 118, 121, 70, 73, 118, 121};
  for (const bool in_memory : {true, false}) {
    folder.config.in_memory = in_memory;
    for (const Phase phase : {Phase::training, Phase::evaluation}) {
      auto input = opened(folder.config, phase);
      CHECK(next(input) == wanted);
    }
  }
  folder.config.height = folder.config.width = 0;
  Diagnostics found;
  folder.config.validate(found);
  REQUIRE(found.list().size() == 1);
  CHECK(found.list()[0].path == "center_crop_fraction");
}

TEST_CASE("training takes random parts of the files' own pixels") {
  Folder folder;
  folder.config.height = 6;
  folder.config.width = 8;
  folder.config.in_memory = false;
  folder.config.center_crop_fraction = 1;
  auto evaluation = opened(folder.config, Phase::evaluation);
  const Values middle = next(evaluation);
  folder.config.augment.random_resized_crop = quarter();
  auto input = opened(folder.config, Phase::training);
  std::set<float> starts;
  Value state;
  Values after_state;
  for (int batch = 0; batch < 20; ++batch) {
    if (batch == 11) state = input.save_state();
    const Values pixels = next(input);
    if (batch == 11) after_state = pixels;
    REQUIRE(pixels.size() == 96);
    for (const std::ptrdiff_t image : {0, 48}) {
      const Values one(pixels.begin() + image, pixels.begin() + image + 48);
      REQUIRE(one == part_from(one[0]));
      starts.insert(one[0]);
    }
  }
  CHECK(starts.size() > 20);  // of 63 positions
  auto resumed = opened(folder.config, Phase::training);
  resumed.restore_state(state);
  CHECK(next(resumed) == after_state);
  // An evaluation with the same config takes the middle, also in memory.
  for (const bool in_memory : {true, false}) {
    folder.config.in_memory = in_memory;
    auto input_of_evaluation = opened(folder.config, Phase::evaluation);
    CHECK(next(input_of_evaluation) == middle);
  }
}

TEST_CASE("random parts of files need the files' pixels, and others bytes") {
  Folder folder;
  folder.config.augment.random_resized_crop = quarter();
  CHECK_THAT(input_error([&] { opened(folder.config, Phase::training); }),
             Contains("augment.random_resized_crop") && Contains("in_memory = false"));
  CHECK(input_error([&] { opened(folder.config, Phase::evaluation); }).empty());
}

TEST_CASE("random parts of images in memory are resized to the size of the images") {
  const TempDir temp;
  const auto bytes = numbered_pixels();
  const std::string text(bytes.begin(), bytes.end());
  write_file(temp / "images", idx({1, kHeight, kWidth}, text));
  data::IdxConfig config;
  config.images = (temp / "images").string();
  config.batch_size = 1;
  config.scale = 1;
  config.augment.random_resized_crop = quarter();
  InputContext context{.phase = Phase::training, .name = "input"};
  data::IdxInput input(config, context);
  for (int epoch = 0; epoch < 5; ++epoch) {
    const Values pixels = next(input);
    REQUIRE(pixels.size() == kHeight * kWidth);
    // Corners are those of the part, 6 x 8 in 12 x 16.
    CHECK(pixels[kWidth - 1] == pixels[0] + 7);
    CHECK(pixels[(kHeight - 1) * kWidth] == pixels[0] + 5 * kWidth);
  }
}

}  // namespace crops_test
