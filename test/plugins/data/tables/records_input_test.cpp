// SPDX-License-Identifier: Apache-2.0
// Features of tf.Example records as fields of batches, in any order, and every kind of bad record.
#include "data/tables/records_input.h"

#include <limits>
#include <set>

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/data/files.h"
#include "plugins/data/records.h"
#include "support/images/image_files.h"
#include "trivet/testing/input_check.h"

namespace records_input_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Floats = std::vector<float>;
using Integers = std::vector<std::int32_t>;
using Features = std::vector<std::pair<std::string, std::string>>;

// x = {n, n + 0.5}, label = n % 3, for n below `count`.
Features example(int n) {
  return {{"x", floats_feature({static_cast<float>(n), static_cast<float>(n) + 0.5F})},
          {"image/class", ints_feature({n % 3})}};
}

std::string file_of(const std::vector<Features>& examples) {
  std::string bytes;
  for (const Features& features : examples) bytes += framed(tf_example(features));
  return bytes;
}

// Files of 3 and 2 such examples, and an empty one.
struct Files {
  Files() {
    temp.write("a-0", file_of({example(0), example(1), example(2)}));
    temp.write("a-1", file_of({example(3), example(4)}));
    temp.write("a-2", "");
    config.files = {Path((temp / "a-*").string())};
    config.batch_size = 2;
    config.features["x"] = {.shape = {2}};
    config.features["label"] = {.feature = "image/class", .dtype = data::FieldType::i32};
  }
  TempDir temp;
  data::RecordsConfig config;
};

std::unique_ptr<data::RecordsInput> open(const data::RecordsConfig& config,
                                         Phase phase = Phase::evaluation,
                                         const std::string& examples = "") {
  InputContext context{.phase = phase, .name = "input", .examples = examples};
  return std::make_unique<data::RecordsInput>(config, context);
}

// The batch of one record under one field "f".
Batch batch_of(const Features& features, const data::FieldConfig& field) {
  Files files;
  files.config.features = {{"f", field}};
  files.config.files = {Path(files.temp.write("one", file_of({features})).string())};
  files.config.batch_size = 1;
  return *open(files.config)->get_next();
}
Floats floats_of(const std::string& feature, const data::FieldConfig& field) {
  return batch_of({{"f", feature}}, field).at("f").to_host<float>();
}
std::string refused(const Features& features, const data::FieldConfig& field) {
  return input_error([&] { batch_of(features, field); });
}

std::vector<std::string> problems(const data::RecordsConfig& config) {
  Diagnostics found;
  config.validate(found);
  for (const auto& [name, field] : config.features) field.validate(found);
  std::vector<std::string> paths;
  for (const Diagnostic& problem : found.list()) paths.push_back(problem.path);
  return paths;
}

constexpr auto kI32 = data::FieldType::i32;
constexpr auto kBytes = data::FieldEncoding::bytes, kImage = data::FieldEncoding::image;

}  // namespace

TEST_CASE("features become fields of the shapes and types of the config", "[records]") {
  const Files files;
  const auto input = open(files.config);
  const Batch batch = *input->get_next();
  CHECK(batch.at("x").shape() == Shape{2, 2});
  CHECK(batch.at("x").to_host<float>() == Floats{0, 0.5F, 1, 1.5F});
  CHECK(batch.at("label").to_host<std::int32_t>() == Integers{0, 1});
  CHECK(input->get_next()->at("x").to_host<float>() == Floats{2, 2.5F, 3, 3.5F});
  CHECK(input->locations()[1] == (files.temp / "a-1").string() + ", record 1");
  CHECK(input->get_next()->at("weight").to_host<float>() == Floats{1, 0});
  CHECK_FALSE(input->get_next().has_value());
  CHECK(input->batches_per_epoch() == 3);
}

TEST_CASE("lists of numbers, bytes and images are read in both forms", "[records]") {
  CHECK(floats_of(packed_ints_feature({-7, 16777216}), {.shape = {2}}) == Floats{-7, 16777216});
  CHECK(floats_of(ints_feature({3, 4}), {.shape = {2, 1}, .scale = 0.5}) == Floats{1.5F, 2});
  CHECK(floats_of(bytes_feature({std::string("\0\xFF\x80", 3)}),
                  {.shape = {3}, .encoding = kBytes, .scale = 1}) == Floats{0, 255, 128});
  CHECK(floats_of(bytes_feature({"\xFF"}), {.encoding = kBytes}) == Floats{1});
  CHECK(batch_of({{"f", bytes_feature({"\x05\xFE"})}},
                 {.shape = {2}, .dtype = kI32, .encoding = kBytes})
            .at("f")
            .to_host<std::int32_t>() == Integers{5, 254});
  const std::string png = png_file(std::vector<std::uint8_t>(12, 51), {2, 2, 3});
  CHECK(floats_of(bytes_feature({png}), {.shape = {1, 1, 3}, .encoding = kImage}) ==
        Floats(3, 0.2F));
  const std::int64_t least = std::numeric_limits<std::int32_t>::min();
  CHECK(batch_of({{"f", ints_feature({least, -least - 1})}}, {.shape = {2}, .dtype = kI32})
            .at("f")
            .to_host<std::int32_t>() == Integers{-2147483648, 2147483647});
  // A list in parts, and the last of two kinds.
  const std::string parts = ints_feature({1}) + packed_ints_feature({2, 3});
  CHECK(floats_of(parts, {.shape = {3}}) == Floats{1, 2, 3});
  CHECK(floats_of(floats_feature({9}) + ints_feature({1}), {}) == Floats{1});
}

TEST_CASE("a record that lacks a feature has the default, or is refused", "[records]") {
  const Features without = {{"other", ints_feature({1})}};
  CHECK(batch_of(without, {.shape = {2}, .default_value = -1}).at("f").to_host<float>() ==
        Floats{-1, -1});
  CHECK(batch_of({{"f", ints_feature({})}}, {.dtype = kI32, .default_value = 7})
            .at("f")
            .to_host<std::int32_t>() == Integers{7});
  CHECK_THAT(refused(without, {}),
             Contains("one, record 1: the feature 'f' is missing") && Contains("default_value"));
  CHECK_THAT(refused({{"f", ints_feature({})}}, {}), Contains("the feature 'f' has no value"));
}

TEST_CASE("lists of varying length are padded to their shape", "[records]") {
  const data::FieldConfig floats{.shape = {3}, .scale = 2, .pad_value = -1};
  CHECK(floats_of(floats_feature({1, 2}), floats) == Floats{2, 4, -1});
  CHECK(floats_of(floats_feature({1, 2, 3}), floats) == Floats{2, 4, 6});
  CHECK(floats_of(ints_feature({4}), floats) == Floats{8, -1, -1});
  CHECK(floats_of(ints_feature({}), floats) == Floats{-1, -1, -1});
  const data::FieldConfig integers{.shape = {2, 2}, .dtype = kI32, .pad_value = 9};
  CHECK(batch_of({{"f", ints_feature({5, 6, 7})}}, integers).at("f").to_host<std::int32_t>() ==
        Integers{5, 6, 7, 9});
  CHECK_THAT(refused({{"f", floats_feature({1, 2, 3, 4})}}, floats),
             Contains("'f' has 4 values, and its shape has 3"));
  CHECK_THAT(refused({{"other", ints_feature({1})}}, floats), Contains("'f' is missing"));
  CHECK_THAT(refused({{"f", floats_feature({1, 2})}}, {.shape = {3}}),
             Contains("'f' has 2 values, and its shape has 3") && Contains("pad_value"));
}

TEST_CASE("features of another kind, length or range are refused by name", "[records]") {
  CHECK_THAT(refused({{"f", ints_feature({1, 2})}}, {}),
             Contains("one, record 1: the feature 'f' has 2 values, and its shape has 1"));
  CHECK_THAT(refused({{"f", bytes_feature({"ab"})}}, {.shape = {3}, .encoding = kBytes}),
             Contains("'f' has 2 bytes, and its shape has 3"));
  CHECK_THAT(refused({{"f", bytes_feature({"a", "b"})}}, {.encoding = kBytes}),
             Contains("'f' has 2 values, and its encoding takes 1"));
  CHECK_THAT(refused({{"f", bytes_feature({"a"})}}, {}),
             Contains("is of the kind bytes_list") && Contains("encoding = \"bytes\""));
  CHECK_THAT(refused({{"f", ints_feature({1})}}, {.encoding = kBytes}),
             Contains("is of the kind int64_list") && Contains("encoding = \"numbers\""));
  CHECK_THAT(refused({{"f", floats_feature({1})}}, {.dtype = kI32}),
             Contains("is of the kind float_list, but dtype is i32"));
  CHECK_THAT(refused({{"f", ints_feature({std::int64_t{1} << 31})}}, {.dtype = kI32}),
             Contains("has the value 2147483648, which is not in i32"));
  CHECK_THAT(refused({{"f", ints_feature({16777217})}}, {}),
             Contains("has the value 16777217, which f32 may not hold exactly"));
  CHECK_THAT(refused({{"f", bytes_feature({"GIF"})}}, {.shape = {1, 1, 1}, .encoding = kImage}),
             Contains("one, record 1: the feature 'f': is neither a JPEG nor a PNG file"));
  CHECK_THAT(refused({{"f", ints_feature({1})}, {"f", ints_feature({2})}}, {}),
             Contains("has the feature 'f' twice"));
  CHECK(refused({{"f", ints_feature({1})}, {"g", ints_feature({1})}, {"g", ""}}, {}).empty());
}

TEST_CASE("files that are cut or damaged are refused with the record", "[records]") {
  Files files;
  const std::string whole = read_file(files.temp / "a-1");
  const auto refused_file = [&](const std::string& bytes) {
    files.temp.write("a-1", bytes);
    return complaint<data::RecordsInput>(files.config);
  };
  CHECK_THAT(refused_file(whole.substr(0, whole.size() - 3)),
             Contains("a-1, record 2: is cut off"));
  std::string damaged = whole;
  damaged[whole.size() - 20] = static_cast<char>(damaged[whole.size() - 20] ^ 1);
  CHECK_THAT(refused_file(damaged), Contains("a-1, record 2: its checksum is wrong"));
  damaged = whole;
  damaged[0] = static_cast<char>(damaged[0] ^ 1);
  CHECK_THAT(refused_file(damaged), Contains("a-1, record 1: the checksum of its length is wrong"));
  CHECK_THAT(refused_file(framed("\xFF\xFF")), Contains("a-1, record 1: is not a tf.Example"));
  files.config.files = {Path((files.temp / "a-2").string())};
  CHECK_THAT(complaint<data::RecordsInput>(files.config), Contains("a-2: has no records"));
  files.config.files = {Path((files.temp / "b-*").string())};
  CHECK_THAT(complaint<data::RecordsInput>(files.config), Contains("no such file"));
}

TEST_CASE("without check_all a damaged record is found when it is read", "[records]") {
  Files files;
  std::string bytes = read_file(files.temp / "a-0");
  bytes[bytes.size() - 20] = static_cast<char>(bytes[bytes.size() - 20] ^ 1);
  files.temp.write("a-0", bytes);
  files.config.check_all = false;
  const auto input = open(files.config);
  CHECK(input->get_next().has_value());
  CHECK_THAT(input_error([&] { input->get_next(); }),
             Contains("a-0, record 3: its checksum is wrong"));
  files.config.features["x"].shape = {3};
  CHECK_THAT(complaint<data::RecordsInput>(files.config),
             Contains("a-0, record 1: the feature 'x' has 2 values, and its shape has 3"));
}

TEST_CASE("gzip files are read from memory, within the limit of all together", "[records]") {
  Files files;
  const Batch plain = *open(files.config)->get_next();
  const std::size_t size = read_file(files.temp / "a-0").size();
  for (const char* name : {"a-0", "a-1"}) {
    files.temp.write(name, gzip(read_file(files.temp / name)));
  }
  CHECK(open(files.config)->get_next()->at("x").to_host<float>() == plain.at("x").to_host<float>());
  files.config.limit = static_cast<std::int64_t>(size);
  CHECK_THAT(complaint<data::RecordsInput>(files.config),
             Contains("a-0 and 2 more: have more than limit"));
  files.config.limit = static_cast<std::int64_t>(size) - 1;
  CHECK_THAT(complaint<data::RecordsInput>(files.config), Contains("a-0: has more than limit"));
}

TEST_CASE("records keep the promises of an input, and hosts share them", "[records]") {
  Files files;
  CHECK(testing::check_input([&] { return open(files.config); }, 2) == "");
  files.config.shuffle = true;
  CHECK(testing::check_input([&] { return open(files.config, Phase::training); }, 2,
                             {.batches = 11, .resets = false}) == "");
  std::multiset<float> seen;
  files.config.num_infeed_hosts = 2;
  files.config.batch_size = 1;
  for (std::int64_t host = 0; host < 2; ++host) {
    files.config.infeed_host_index = host;
    const auto input = open(files.config);
    while (const auto batch = input->get_next()) {
      if (batch->at("weight").to_host<float>()[0] == 1) {
        seen.insert(batch->at("x").to_host<float>()[0]);
      }
    }
  }
  CHECK(seen == std::multiset<float>{0, 1, 2, 3, 4});
}

TEST_CASE("examples may have weights of their own, and padding has none", "[records]") {
  Files files;
  std::vector<Features> examples;
  for (const float weight : {0.5F, 2.0F, 0.25F}) {
    examples.push_back({{"x", ints_feature({1})}, {"w", floats_feature({weight})}});
  }
  const auto path = files.temp.write("weighted", file_of(examples)).string();
  files.config.files = {Path(path)};
  files.config.features = {{"x", {}}, {"weight", {.feature = "w"}}};
  const auto input = open(files.config);
  CHECK(input->get_next()->at("weight").to_host<float>() == Floats{0.5F, 2});
  CHECK(input->get_next()->at("weight").to_host<float>() == Floats{0.25F, 0});
  // Labels and weights are not asked of examples to predict.
  files.config.features["label"] = {.dtype = kI32};
  const auto predicted = open(files.config, Phase::evaluation, path);
  const Batch batch = *predicted->get_next();
  CHECK_FALSE(batch.contains("label"));
  CHECK(batch.at("weight").to_host<float>() == Floats{1, 1});
  CHECK(predicted->locations()[0] == path + ", record 1");
  CHECK_THAT(input_error([&] { open(files.config, Phase::evaluation, "-"); }),
             Contains("not from standard input"));
  files.config.features.erase("label");
  for (const float wrong : {-1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    files.temp.write("weighted",
                     file_of({{{"x", ints_feature({1})}, {"w", floats_feature({wrong})}}}));
    CHECK_THAT(complaint<data::RecordsInput>(files.config),
               Contains("weighted, record 1: has the weight"));
  }
}

TEST_CASE("fields of records are checked and survive the way to a file", "[records]") {
  const Files files;
  CHECK(problems(files.config).empty());
  check_round_trip(files.config);
  const auto problems_of = [&](const std::string& name, const data::FieldConfig& field) {
    data::RecordsConfig config = files.config;
    config.features = {{name, field}};
    return problems(config);
  };
  using Paths = std::vector<std::string>;
  CHECK(problems_of("a/b", {}).empty());
  for (const char* name : {"", "/a", "a/", "a//b"}) {
    CHECK(problems_of(name, {}) == Paths{"features"});
  }
  CHECK(problems_of("weight", {}).empty());
  CHECK(problems_of("weight", {.shape = {1}}) == Paths{"features.weight"});
  CHECK(problems_of("f", {.shape = {1 << 20, 1 << 20, 1 << 20, 1 << 20}}) == Paths{"shape"});
  CHECK(problems_of("f", {.shape = std::vector<std::int64_t>(20, 1)}) == Paths{"shape"});
  CHECK(problems_of("f", {.shape = {2, 2}, .encoding = kImage}) == Paths{"shape"});
  CHECK(problems_of("f", {.shape = {2, 2, 2}, .dtype = kI32, .encoding = kImage}) ==
        Paths{"shape", "dtype"});
  CHECK(problems_of("f", {.dtype = kI32, .scale = 2, .default_value = 0.5}) ==
        Paths{"scale", "default_value"});
  CHECK(problems_of("f", {.dtype = kI32, .pad_value = 0.5}) == Paths{"pad_value"});
  CHECK(problems_of("f", {.shape = {2}, .encoding = kBytes, .pad_value = 0}) == Paths{"pad_value"});
  data::RecordsConfig none = files.config;
  none.features.clear();
  none.files.clear();
  CHECK(problems(none) == Paths{"files", "features"});
}

}  // namespace records_input_test
