// SPDX-License-Identifier: Apache-2.0
// Folders of JPEG and PNG files: classes, pixels, sizes, and every kind of bad file.
#include "data/images/image_folder_input.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "data/images/image_file.h"
#include "data/images/resize.h"
#include "plugins/data/files.h"
#include "support/images/image_files.h"

namespace image_folder_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;
using Bytes8 = std::vector<std::uint8_t>;

namespace {

// A ramp that starts at `first`.
Bytes8 ramp(std::size_t size, int first) {
  Bytes8 values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<std::uint8_t>(first + 3 * i);
  return values;
}

// Two classes of gray images of 4 x 6 pixels: cat/1.png, cat/2.PNG, dog/a.jpeg.
struct Folder {
  Folder() {
    temp.write("cat/1.png", png_file(ramp(24, 0), {4, 6}));
    temp.write("cat/2.PNG", png_file(ramp(24, 50), {4, 6}));
    temp.write("dog/a.jpeg", jpeg_file(ramp(24, 100), {4, 6}));
    config.path = temp.path().string();
    config.num_classes = 2;
    config.batch_size = 3;
    config.scale = 1;
  }
  TempDir temp;
  data::ImageFolderConfig config;
};

Batch first_batch(const data::ImageFolderConfig& config, Phase phase = Phase::evaluation) {
  InputContext context{.phase = phase, .name = "input"};
  return *data::ImageFolderInput(config, context).get_next();
}

std::vector<std::string> problems(const data::ImageFolderConfig& config) {
  Diagnostics found;
  config.validate(found);
  std::vector<std::string> texts;
  for (const Diagnostic& problem : found.list()) texts.push_back(problem.path);
  return texts;
}

}  // namespace

TEST_CASE("classes are folders by name, and pixels those of the files") {
  Folder folder;
  for (const bool in_memory : {true, false}) {
    folder.config.in_memory = in_memory;
    const Batch batch = first_batch(folder.config);
    CHECK(batch.at("label").to_host<std::int32_t>() == std::vector<std::int32_t>{0, 0, 1});
    CHECK(batch.at("image").shape() == Shape{3, 4, 6, 1});
    const auto pixels = batch.at("image").to_host<float>();
    for (std::size_t i = 0; i < 24; ++i) {
      CHECK(pixels[i] == static_cast<float>(3 * i));
      CHECK(pixels[24 + i] == static_cast<float>(50 + 3 * i));
      // Quality 95 of a ramp.
      CHECK(std::abs(pixels[48 + i] - static_cast<float>(100 + 3 * i)) <= 6);
    }
  }
  folder.config.classes = {"dog", "cat"};
  CHECK(first_batch(folder.config).at("label").to_host<std::int32_t>() ==
        std::vector<std::int32_t>{0, 1, 1});
}

TEST_CASE("outputs by example name the file") {
  const Folder folder;
  InputContext context{.phase = Phase::evaluation, .name = "input"};
  data::ImageFolderInput input(folder.config, context);
  input.get_next();
  CHECK(input.locations()[1] == (folder.temp / "cat/2.PNG").string());
  // A file, or a folder of any form, as the examples of trivet predict.
  InputContext one{.phase = Phase::evaluation,
                   .name = "input",
                   .examples = (folder.temp / "dog/a.jpeg").string()};
  data::ImageFolderInput single(folder.config, one);
  CHECK_FALSE(single.get_next()->contains("label"));
  CHECK_FALSE(single.get_next().has_value());
  InputContext all{
      .phase = Phase::evaluation, .name = "input", .examples = folder.temp.path().string()};
  data::ImageFolderInput every(folder.config, all);
  every.get_next();
  CHECK(every.locations().size() == 3);
  InputContext piped{.phase = Phase::evaluation, .name = "input", .examples = "-"};
  CHECK_THAT(input_error([&] { data::ImageFolderInput(folder.config, piped); }),
             Contains("not from standard input"));
}

TEST_CASE("colors become gray and gray becomes colors by the formula") {
  const TempDir temp;
  const Bytes8 rgb = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30};
  const auto color = temp.write("rgb.png", png_file(rgb, {2, 2, 3})).string();
  CHECK(data::read_image(color, 0).values == rgb);
  // 0.299, 0.587 and 0.114 of 255; 2.99 + 11.74 + 3.42.
  CHECK(data::read_image(color, 1).values == Bytes8{76, 150, 29, 18});
  const auto gray = temp.write("gray.png", png_file(Bytes8{1, 2, 3, 4}, {2, 2, 1})).string();
  CHECK(data::read_image(gray, 3).values == Bytes8{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
  CHECK(data::read_image(gray, 0).channels == 1);
  // Opaque alpha changes nothing.
  const auto opaque = temp.write("ga.png", png_file(Bytes8{7, 255, 8, 255}, {1, 2, 2})).string();
  CHECK(data::read_image(opaque, 0).values == Bytes8{7, 8});
  const data::Pixels jpeg =
      data::read_image(temp.write("c.jpg", jpeg_file(Bytes8(48, 200), {4, 4, 3})).string(), 0);
  CHECK(jpeg.channels == 3);
  CHECK(std::abs(jpeg.values[5] - 200) <= 1);
}

TEST_CASE("images are resized with pixel centers at half integers") {
  const data::Pixels image{2, 2, 1, {0, 100, 200, 40}};
  // PyTorch's interpolate(mode="bilinear", align_corners=False) of this image to 4 x 4, by hand:
  // shares 1, 3/4 1/4, 1/4 3/4, 1 along both axes.
  CHECK(data::resized(image, 4, 4).values == Bytes8{0, 25, 75, 100,    //
                                                    50, 59, 76, 85,    //
                                                    150, 126, 79, 55,  //
                                                    200, 160, 80, 40});
  CHECK(data::resized(image, 1, 1).values == Bytes8{85});
  CHECK(data::resized(image, 2, 2).values == image.values);
  Folder folder;
  folder.temp.write("dog/large.png", png_file(ramp(9 * 7, 0), {9, 7}));
  folder.config.batch_size = 4;
  CHECK_THAT(complaint<data::ImageFolderInput>(folder.config),
             Contains("large.png: has 9 x 7 pixels") && Contains("set height and width"));
  folder.config.height = 5;
  folder.config.width = 3;
  CHECK(first_batch(folder.config).at("image").shape() == Shape{4, 5, 3, 1});
}

TEST_CASE("files that are cut, damaged or of another kind are refused by name") {
  const std::string png = png_file(ramp(24, 0), {4, 6}), jpeg = jpeg_file(ramp(24, 0), {4, 6});
  const std::string large = jpeg_file(ramp(64 * 64, 0), {64, 64});
  std::string flipped = png;
  flipped[flipped.size() - 20] = static_cast<char>(flipped[flipped.size() - 20] ^ 1);
  std::string bomb = png;
  for (const std::size_t at : {16, 20}) bomb.replace(at, 4, std::string("\0\0\xea\x60", 4));
  struct Case {
    const char* name;
    std::string bytes;
    const char* what;
  };
  const std::vector<Case> cases = {
      {"dog/b.png", png.substr(0, png.size() - 16), "is no readable PNG"},
      {"dog/b.png", png.substr(0, 40), "is no readable PNG"},
      {"dog/b.png", flipped, "is no readable PNG"},
      {"dog/b.png", bomb, "b.png"},
      {"dog/b.jpg", jpeg.substr(0, jpeg.size() / 2), "is no readable JPEG"},
      {"dog/b.jpg", large.substr(0, large.size() - 99), "is cut or damaged"},
      {"dog/b.jpg", "", "is empty"},
      {"dog/b.jpg", "GIF89a", "is neither a JPEG nor a PNG file"},
      {"dog/b.png", png_file(Bytes8{7, 255, 8, 254}, {1, 2, 2}), "not opaque"},
      {"dog/b.png", png_file(Bytes8(16, 0), {2, 4}, 16), "has 16 bits a channel"},
      {"dog/notes.txt", "hello", "is no .jpg, .jpeg or .png file"},
      {"stray.jpg", jpeg, "is in no folder of a class"},
      {"dog/\xff.jpg", jpeg, "the name is not UTF-8"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name, c.what);
    const Folder folder;
    folder.temp.write(c.name, c.bytes);
    CHECK_THAT(complaint<data::ImageFolderInput>(folder.config), Contains(c.what));
  }
}

TEST_CASE("folders that do not fit the classes are refused") {
  Folder folder;
  folder.config.num_classes = 3;
  CHECK_THAT(complaint<data::ImageFolderInput>(folder.config),
             Contains("has 2 folders of classes, and num_classes is 3"));
  folder.config.num_classes = 2;
  fs::create_directory(folder.temp / "dog/empty");
  fs::create_directory(folder.temp / ".hidden");
  CHECK(complaint<data::ImageFolderInput>(folder.config).empty());
  fs::create_directory_symlink(folder.temp.path(), folder.temp / "dog/loop");
  CHECK_THAT(complaint<data::ImageFolderInput>(folder.config), Contains("is a link to a folder"));
  fs::remove(folder.temp / "dog/loop");
  fs::remove(folder.temp / "dog/a.jpeg");
  CHECK_THAT(complaint<data::ImageFolderInput>(folder.config), Contains("dog: has no images"));
  folder.config.classes = {"cat", "bird"};
  CHECK_THAT(complaint<data::ImageFolderInput>(folder.config), Contains("bird"));
  folder.config.path = (folder.temp / "nowhere").string();
  CHECK_THAT(complaint<data::ImageFolderInput>(folder.config), Contains("does not exist"));
  folder.config.path = (folder.temp / "cat/1.png").string();
  CHECK_THAT(complaint<data::ImageFolderInput>(folder.config), Contains("is no folder"));

  Folder large;
  large.config.limit = 71;
  CHECK_THAT(
      complaint<data::ImageFolderInput>(large.config),
      Contains("3 images of 24 bytes are more than limit = 71") && Contains("in_memory = false"));
  large.config.limit = 72;
  CHECK(complaint<data::ImageFolderInput>(large.config).empty());
}

TEST_CASE("fields that contradict each other are refused") {
  data::ImageFolderConfig config;
  config.path = "x";
  config.batch_size = 1;
  CHECK(problems(config) == std::vector<std::string>{"num_classes"});
  config.num_classes = 2;
  config.height = 3;
  config.channels = 2;
  CHECK(problems(config) == std::vector<std::string>{"width", "channels"});
  config.height = config.channels = 0;
  config.labels = false;
  config.classes = {"a"};
  CHECK(problems(config) == std::vector<std::string>{"classes"});
}

}  // namespace image_folder_test
