// SPDX-License-Identifier: Apache-2.0
// Images in tf.Example records: features, labels, order, random changes, and every kind of wrong
// record.
#include "data/images/image_records_input.h"

#include <functional>

#include <catch2/catch.hpp>

#include "data/images/image_tar_input.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/files.h"
#include "plugins/data/records.h"
#include "plugins/data/tars.h"
#include "support/images/image_files.h"
#include "trivet/testing/input_check.h"

namespace image_records_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Labels = std::vector<std::int32_t>;

// A gray image of 4 x 6 pixels that rise from a value.
std::string image(int value) {
  std::vector<std::uint8_t> pixels(24);
  for (std::size_t i = 0; i < 24; ++i) {
    pixels[i] = static_cast<std::uint8_t>(value + static_cast<int>(i));
  }
  return png_file(pixels, {4, 6});
}

// A record as Model Garden's ImageNet has it, with a feature that nothing reads.
std::string record(const std::string& encoded, std::int64_t label) {
  return framed(tf_example({{"image/height", packed_ints_feature({4})},
                            {"image/encoded", bytes_feature({encoded})},
                            {"image/class/label", ints_feature({label})}}));
}

struct Files {
  Files() {
    temp.write("a-0.tfrecord", record(image(10), 1) + record(image(20), 3));
    temp.write("a-1.tfrecord", record(image(30), 2));
    config.files = {Path((temp / "a-*.tfrecord").string())};
    config.num_classes = 3;
    config.first_label = 1;
    config.batch_size = 3;
    config.scale = 1;
  }
  TempDir temp;
  data::ImageRecordsConfig config;
};

struct Read {
  std::vector<float> values;  // the first pixel of each image
  Labels labels;
  std::vector<std::string> locations;
};

Read read_all(const data::ImageRecordsConfig& config, const std::string& examples = "") {
  InputContext context{.phase = Phase::evaluation, .name = "input", .examples = examples};
  data::ImageRecordsInput input(config, context);
  Read read;
  while (const auto batch = input.get_next()) {
    const auto pixels = batch->at("image").to_host<float>();
    for (std::size_t i = 0; i < pixels.size(); i += 24) read.values.push_back(pixels[i]);
    if (const Tensor* label = batch->find("label")) {
      for (const std::int32_t one : label->to_host<std::int32_t>()) read.labels.push_back(one);
    }
    for (const std::string& one : input.locations()) read.locations.push_back(one);
  }
  return read;
}

// What opening a file of these bytes says.
std::string refused(const std::string& bytes) {
  Files files;
  files.config.files = {Path(files.temp.write("bad.tfrecord", bytes).string())};
  return complaint<data::ImageRecordsInput>(files.config);
}

std::vector<std::string> problems(const data::ImageRecordsConfig& config) {
  Diagnostics found;
  config.validate(found);
  std::vector<std::string> paths;
  for (const Diagnostic& problem : found.list()) paths.push_back(problem.path);
  return paths;
}

}  // namespace

TEST_CASE("records have an image and its class, counted from first_label") {
  Files files;
  for (const bool in_memory : {true, false}) {
    files.config.in_memory = in_memory;
    const Read read = read_all(files.config);
    CHECK(read.values == std::vector<float>{10, 20, 30});
    CHECK(read.labels == Labels{0, 2, 1});
    CHECK(read.locations[1] == (files.temp / "a-0.tfrecord").string() + ", record 2");
    CHECK(read.locations[2] == (files.temp / "a-1.tfrecord").string() + ", record 1");
  }
  files.config.labels = false;
  files.config.first_label = 0;
  CHECK(read_all(files.config).labels.empty());
  files.temp.write("a-1.tfrecord", gzip(read_file(files.temp / "a-1.tfrecord")));
  CHECK(read_all(files.config).values == std::vector<float>{10, 20, 30});
  files.config.limit = 100;
  CHECK_THAT(complaint<data::ImageRecordsInput>(files.config), Contains("limit"));
}

TEST_CASE("features may have other names, and images be JPEG") {
  Files files;
  const std::string jpeg = jpeg_file(std::vector<std::uint8_t>(24, 9), {4, 6});
  files.config.files = {
      Path(files.temp
               .write("t.tfrecord", framed(tf_example({{"photo", bytes_feature({jpeg})},
                                                       {"class", packed_ints_feature({2})}})))
               .string())};
  files.config.image_feature = "photo";
  files.config.label_feature = "class";
  files.config.batch_size = 1;
  const Read read = read_all(files.config);
  CHECK(read.labels == Labels{1});
  CHECK(std::abs(read.values[0] - 9) <= 1);
}

TEST_CASE("shuffled and changed records give the batches of the same images in tar files") {
  TempDir temp;
  std::string records;
  std::vector<TarEntry> members;
  for (int i = 0; i < 10; ++i) {
    records += record(image(8 * i), i % 3);
    members.push_back({std::to_string(i) + ".png", image(8 * i)});
    members.push_back({std::to_string(i) + ".cls", std::to_string(i % 3)});
  }
  data::ImageRecordsConfig config;
  config.files = {Path(temp.write("t.tfrecord", records).string())};
  data::ImageTarConfig tar_config;
  tar_config.files = {Path(temp.write("t.tar", tar(members)).string())};
  for (data::EncodedConfig* each : {static_cast<data::EncodedConfig*>(&config),
                                    static_cast<data::EncodedConfig*>(&tar_config)}) {
    each->num_classes = 3;
    each->batch_size = 4;
    each->shuffle = true;
    each->in_memory = false;
    each->augment.crop_padding = 1;
    each->augment.color_jitter.brightness = 0.5;
  }
  InputContext one{.phase = Phase::training, .name = "input"}, other = one;
  data::ImageRecordsInput input(config, one);
  data::ImageTarInput expected(tar_config, other);
  for (int i = 0; i < 7; ++i) {
    const auto batch = input.get_next(), wanted = expected.get_next();
    CHECK(batch->at("image").to_host<float>() == wanted->at("image").to_host<float>());
    CHECK(batch->at("label").to_host<std::int32_t>() ==
          wanted->at("label").to_host<std::int32_t>());
  }
}

TEST_CASE("records that are no labeled image are refused with file, record and remedy") {
  const std::string good = record(image(1), 1);
  const auto example = [](const std::vector<std::pair<std::string, std::string>>& features) {
    return framed(tf_example(features));
  };
  const std::pair<std::string, std::string> encoded{"image/encoded", bytes_feature({image(1)})},
      label{"image/class/label", ints_feature({1})};
  CHECK_THAT(refused(good + example({label})),
             Contains("bad.tfrecord, record 2: the feature 'image/encoded' is missing") &&
                 Contains("image_feature names the feature"));
  CHECK_THAT(refused(good + example({encoded})),
             Contains("record 2: the feature 'image/class/label' is missing") &&
                 Contains("label_feature names the feature"));
  CHECK_THAT(refused(example({label, {"image/encoded", bytes_feature({image(1), image(2)})}})),
             Contains("record 1: the feature 'image/encoded' is not the bytes of one image"));
  CHECK_THAT(refused(example({label, {"image/encoded", floats_feature({1})}})),
             Contains("is not the bytes of one image"));
  CHECK_THAT(refused(example({encoded, {"image/class/label", floats_feature({1})}})),
             Contains("is not one whole number"));
  CHECK_THAT(refused(example({encoded, {"image/class/label", ints_feature({1, 2})}})),
             Contains("is not one whole number"));
  CHECK_THAT(refused(record(image(1), 0)),
             Contains("has the label 0, outside the numbers of classes, which begin with "
                      "first_label = 1"));
  CHECK_THAT(refused(record(image(1), -1)), Contains("has the label -1, outside"));
  CHECK_THAT(refused(record(image(1), 4)),
             Contains("has the label 4, not below first_label + num_classes = 4"));
  CHECK_THAT(refused(record("GIF89a", 1)), Contains("record 1: is neither a JPEG nor a PNG file"));
  CHECK_THAT(refused(record(image(1).substr(0, 60), 1)), Contains("is no readable PNG"));
  CHECK_THAT(refused(""), Contains("bad.tfrecord: has no records"));
  CHECK_THAT(refused(good.substr(0, good.size() - 1)), Contains("record 1: is cut off"));
  std::string damaged = good;
  damaged[40] ^= 1;
  CHECK_THAT(refused(damaged), Contains("its checksum is wrong"));
  CHECK_THAT(refused(framed("\xFF\xFF")), Contains("is not a tf.Example"));
}

TEST_CASE("a file of records, an image or a folder of images can be predicted") {
  Files files;
  files.config.files = {Path("/nowhere.tfrecord")};
  files.config.batch_size = 1;
  CHECK(read_all(files.config, (files.temp / "a-0.tfrecord").string()).values.size() == 2);
  const std::string photo = files.temp.write("photos/p.png", image(5)).string();
  CHECK(read_all(files.config, photo).locations == std::vector<std::string>{photo});
  CHECK(read_all(files.config, (files.temp / "photos").string()).values == std::vector<float>{5});
  CHECK_THAT(input_error([&] { read_all(files.config, "-"); }),
             Contains("not from standard input"));
}

TEST_CASE("fields of image records are checked and survive the way to a file") {
  Files files;
  CHECK(problems(files.config).empty());
  check_round_trip(files.config);
  files.config.labels = false;
  CHECK(problems(files.config) == std::vector<std::string>{"first_label"});
  files.config.first_label = 0;
  files.config.label_feature = "class";
  CHECK(problems(files.config) == std::vector<std::string>{"label_feature"});
  files.config.labels = true;
  files.config.image_feature = "class";
  CHECK(problems(files.config) == std::vector<std::string>{"label_feature"});
  files.config.label_feature = "label";
  files.config.files.clear();
  CHECK(problems(files.config) == std::vector<std::string>{"files"});
}

}  // namespace image_records_test
