// SPDX-License-Identifier: Apache-2.0
// Images in tar files: keys, classes, order, state, and every kind of wrong member.
#include "data/images/image_tar_input.h"

#include <catch2/catch.hpp>

#include "data/images/image_folder_input.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/files.h"
#include "plugins/data/tars.h"
#include "support/images/image_files.h"
#include "trivet/testing/input_check.h"

namespace image_tar_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Labels = std::vector<std::int32_t>;

// A gray image of 4 x 6 pixels of one value.
std::string image(int value) {
  return png_file(std::vector<std::uint8_t>(24, static_cast<std::uint8_t>(value)), {4, 6});
}

// Two shards: keys 1 and 2, then 1 and b/3, of values 10 times the key.
struct Shards {
  Shards() {
    temp.write(
        "a-0.tar",
        tar({{"1.png", image(10)}, {"1.cls", "0\n"}, {"2.cls", " 1"}, {"2.PNG", image(20)}}));
    temp.write("a-1.tar", tar({{"b/", "", '5'},
                               {"1.png", image(30)},
                               {"b/3.png", image(40)},
                               {"b/3.cls", "2"},
                               {"1.cls", "1"}}));
    config.files = {Path((temp / "a-*.tar").string())};
    config.num_classes = 3;
    config.batch_size = 4;
    config.scale = 1;
  }
  TempDir temp;
  data::ImageTarConfig config;
};

struct Read {
  std::vector<float> values;  // the first pixel of each image
  Labels labels;
  std::vector<std::string> locations;
};

void add(Read& read, const Batch& batch) {
  const auto pixels = batch.at("image").to_host<float>();
  for (std::size_t i = 0; i < pixels.size(); i += 24) read.values.push_back(pixels[i]);
  if (const Tensor* label = batch.find("label")) {
    for (const std::int32_t one : label->to_host<std::int32_t>()) read.labels.push_back(one);
  }
}

Read read_all(const data::ImageTarConfig& config, const std::string& examples = "") {
  InputContext context{.phase = Phase::evaluation, .name = "input", .examples = examples};
  data::ImageTarInput input(config, context);
  Read read;
  while (const auto batch = input.get_next()) {
    add(read, *batch);
    for (const std::string& one : input.locations()) read.locations.push_back(one);
  }
  return read;
}

// What opening a shard of these members says.
std::string refused(
    const std::vector<TarEntry>& members,
    const std::function<void(data::ImageTarConfig&)>& change = [](auto&) {}) {
  Shards shards;
  shards.config.files = {Path(shards.temp.write("bad.tar", tar(members)).string())};
  change(shards.config);
  return complaint<data::ImageTarInput>(shards.config);
}

std::vector<std::string> problems(const data::ImageTarConfig& config) {
  Diagnostics found;
  config.validate(found);
  std::vector<std::string> paths;
  for (const Diagnostic& problem : found.list()) paths.push_back(problem.path);
  return paths;
}

}  // namespace

TEST_CASE("members of one key are an image and its class, in the order of the shards",
          "[image-tar]") {
  Shards shards;
  for (const bool in_memory : {true, false}) {
    shards.config.in_memory = in_memory;
    const Read read = read_all(shards.config);
    CHECK(read.values == std::vector<float>{10, 20, 30, 40});
    CHECK(read.labels == Labels{0, 1, 1, 2});
    CHECK(read.locations[1] == (shards.temp / "a-0.tar").string() + ":2.PNG");
    CHECK(read.locations[3] == (shards.temp / "a-1.tar").string() + ":b/3.png");
  }
  shards.config.labels = false;
  CHECK(read_all(shards.config).labels.empty());
}

TEST_CASE("classes may be texts, and listed members are left out", "[image-tar]") {
  Shards shards;
  shards.config.files = {
      Path(shards.temp
               .write("t.tar", tar({{"a.jpg", jpeg_file(std::vector<std::uint8_t>(24, 9), {4, 6})},
                                    {"a.cls", "sea lion\n"},
                                    {"a.JSON", "{}"},
                                    {"a.seg.png", image(1)},
                                    {"._a.jpg", "of another system"},
                                    {"b.jpeg", image(7)},
                                    {"b.cls", "cat"}}))
               .string())};
  shards.config.num_classes = 0;
  shards.config.classes = {"cat", "sea lion"};
  shards.config.ignore = {"json", "seg.png"};
  const Read read = read_all(shards.config);
  CHECK(read.labels == Labels{1, 0, 1, 0});  // padded by copies
  CHECK(std::abs(read.values[0] - 9) <= 1);
  CHECK(read.values[1] == 7);
}

TEST_CASE("gzip shards are read from memory, within the limit of all together", "[image-tar]") {
  Shards shards;
  for (const char* name : {"a-0.tar", "a-1.tar"}) {
    shards.temp.write(name, gzip(read_file(shards.temp / name)));
  }
  for (const bool in_memory : {true, false}) {
    shards.config.in_memory = in_memory;
    CHECK(read_all(shards.config).values == std::vector<float>{10, 20, 30, 40});
  }
  shards.config.limit = 7000;
  CHECK_THAT(complaint<data::ImageTarInput>(shards.config),
             Contains("a-0.tar and 1 more: have more than limit = 7000 bytes together"));
  shards.config.limit = 1000;
  CHECK_THAT(complaint<data::ImageTarInput>(shards.config),
             Contains("a-0.tar: has more than limit = 1000 bytes when decompressed"));
}

TEST_CASE("shuffled shards give the batches of a folder, on hosts and after a resume",
          "[image-tar]") {
  Shards shards;
  for (const char* name : {"0/1", "1/2", "1/30", "2/4"}) {
    const int key = name[2] - '0';
    shards.temp.write("folder/" + std::string(name) + ".png", image(10 * key));
  }
  data::ImageFolderConfig folder;
  static_cast<data::EncodedConfig&>(folder) = shards.config;
  folder.path = (shards.temp / "folder").string();
  folder.shuffle = shards.config.shuffle = true;
  folder.augment.horizontal_flip = shards.config.augment.horizontal_flip = true;
  folder.batch_size = shards.config.batch_size = 1;
  folder.num_infeed_hosts = shards.config.num_infeed_hosts = 2;
  for (std::int64_t host = 0; host < 2; ++host) {
    folder.infeed_host_index = shards.config.infeed_host_index = host;
    InputContext context{.phase = Phase::training, .name = "input"};
    data::ImageTarInput tars(shards.config, context), resumed(shards.config, context);
    data::ImageFolderInput files(folder, context);
    Read of_tars, of_files;
    for (int i = 0; i < 10; ++i) {
      if (i == 5) resumed.restore_state(tars.save_state());
      add(of_tars, *(i < 5 ? tars : resumed).get_next());
      add(of_files, *files.get_next());
    }
    CHECK(of_tars.values == of_files.values);
    CHECK(of_tars.labels == of_files.labels);
  }
  const auto open = [&](Phase phase) {
    InputContext context{.phase = phase, .name = "input"};
    return std::make_unique<data::ImageTarInput>(shards.config, context);
  };
  CHECK(testing::check_input([&] { return open(Phase::evaluation); }, 1) == "");
  CHECK(testing::check_input([&] { return open(Phase::training); }, 1,
                             {.batches = 9, .resets = false}) == "");
}

TEST_CASE("decoded bytes are changed at random, whether they are kept or not", "[image-tar]") {
  Shards shards;
  auto& augment = shards.config.augment.rand_augment.emplace();
  augment.num_layers = 1;
  augment.exclude_ops = augment.operations();
  std::erase(augment.exclude_ops, data::ImageOperation::Invert);
  const auto values = [&] {
    InputContext context{.phase = Phase::training, .name = "input"};
    data::ImageTarInput input(shards.config, context);
    Read read;
    for (int i = 0; i < 8; ++i) add(read, input.get_next().value());
    return read.values;
  };
  const std::vector<float> kept = values();
  int inversions = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto plain = static_cast<float>(10 * (i % 4 + 1));
    const bool inverted = kept[i] != plain;
    CHECK(kept[i] == (inverted ? 255 - plain : plain));
    inversions += inverted ? 1 : 0;
  }
  CHECK((inversions > 4 && inversions < 28));
  shards.config.in_memory = false;
  CHECK(values() == kept);
}

TEST_CASE("members that are no example are refused with archive, name and remedy", "[image-tar]") {
  const TarEntry png{"a.png", image(1)}, cls{"a.cls", "1"};
  CHECK_THAT(refused({png}),
             Contains("bad.tar:a.png: has no 'a.cls' beside it") && Contains("labels = false"));
  CHECK_THAT(refused({png, cls, {"b.cls", "1"}}), Contains("bad.tar:b.cls: has no image 'b.jpg'"));
  CHECK_THAT(refused({png, cls, {"a.jpg", "x"}}),
             Contains("bad.tar:a.jpg: a.png has the same key 'a'"));
  CHECK_THAT(refused({png, cls, {"a.CLS", "2"}}),
             Contains("bad.tar:a.CLS: a.cls has the same key"));
  CHECK_THAT(refused({png, cls, {"a.json", "{}"}}),
             Contains("a.json: is no .jpg, .jpeg, .png or .cls member") &&
                 Contains("ignore = [\"json\"]"));
  CHECK_THAT(refused({png, cls, {"README", "x"}}), Contains("bad.tar:README: is no .jpg"));
  CHECK_THAT(refused({{"a.png", "GIF89a"}, cls}),
             Contains("bad.tar:a.png: is neither a JPEG nor a PNG file"));
  CHECK_THAT(refused({{"a.png", ""}, cls}), Contains("bad.tar:a.png: is empty"));
  CHECK_THAT(refused({{"a.png", image(1).substr(0, 60)}, cls}),
             Contains("bad.tar:a.png: is no readable PNG"));
  CHECK_THAT(
      refused(
          {png, cls, {"b.png", png_file(std::vector<std::uint8_t>(9), {3, 3})}, {"b.cls", "1"}}),
      Contains("bad.tar:b.png: has 3 x 3 pixels, ") && Contains("set height and width"));
  for (const std::string wrong : {"", "x", "-1", "1.0", "0x1", "1 2", "99999999999", "\xFF"}) {
    CAPTURE(wrong);
    CHECK_THAT(refused({png, {"a.cls", wrong}}),
               Contains("bad.tar:a.cls: ") && Contains("is not the number of a class"));
  }
  CHECK_THAT(refused({png, {"a.cls", "3"}}),
             Contains("bad.tar:a.cls: the class 3 is not below num_classes = 3"));
  CHECK_THAT(refused({png, {"a.cls", "bat"}},
                     [](auto& config) {
                       config.classes = {"cat", "dog", "cow"};
                     }),
             Contains("bad.tar:a.cls: 'bat' is none of the classes"));
  CHECK_THAT(refused({png, {"a.cls", std::string(5000, '1')}}), Contains("more than 4096"));
  CHECK_THAT(refused({}), Contains("bad.tar: has no images"));
  CHECK_THAT(refused({{"d/", "", '5'}}), Contains("bad.tar: has no images"));
  CHECK_THAT(refused({png, {"a.cls", "", '2'}}), Contains("bad.tar:a.cls: is a link"));
}

TEST_CASE("a shard, an image or a folder of images can be predicted", "[image-tar]") {
  Shards shards;
  shards.config.files = {Path("/nowhere.tar")};
  shards.config.batch_size = 1;
  CHECK(read_all(shards.config, (shards.temp / "a-0.tar").string()).values.size() == 2);
  const std::string photo = shards.temp.write("photos/p.png", image(5)).string();
  CHECK(read_all(shards.config, photo).locations == std::vector<std::string>{photo});
  CHECK(read_all(shards.config, (shards.temp / "photos").string()).values == std::vector<float>{5});
  CHECK_THAT(input_error([&] { read_all(shards.config, "-"); }),
             Contains("not from standard input"));
  CHECK_THAT(input_error([&] { read_all(shards.config, "/none.tar"); }), Contains("no such file"));
}

TEST_CASE("fields of tar inputs are checked and survive the way to a file", "[image-tar]") {
  Shards shards;
  CHECK(problems(shards.config).empty());
  shards.config.classes = {"a", "b"};
  CHECK(problems(shards.config) == std::vector<std::string>{"num_classes"});
  shards.config.classes = {"a", "b", "a"};
  CHECK(problems(shards.config) == std::vector<std::string>{"classes"});
  shards.config.labels = false;
  shards.config.classes = {"a", "b", "c"};
  CHECK(problems(shards.config) == std::vector<std::string>{"classes"});
  shards.config.classes.clear();
  shards.config.ignore = {".json"};
  shards.config.height = 3;
  CHECK(problems(shards.config) == std::vector<std::string>{"width", "ignore"});
  shards.config.files.clear();
  CHECK(problems(shards.config) == std::vector<std::string>{"width", "files", "ignore"});
  Shards kept;
  kept.config.ignore = {"json"};
  kept.config.classes = {"a", "b", "c"};
  kept.config.in_memory = false;
  check_round_trip(kept.config);
}

}  // namespace image_tar_test
