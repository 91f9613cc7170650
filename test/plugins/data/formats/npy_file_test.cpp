// SPDX-License-Identifier: Apache-2.0
// data/Npy: types, shapes and broken files. The layout is that of numpy.lib.format.
#include <cstring>

#include <catch2/catch.hpp>

#include "plugins/data/files.h"

namespace data_npy_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string dict(const std::string& descr, const std::string& shape,
                 const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

struct Files {
  TempDir dir;
  data::NpyConfig config;
  Files(const std::string& images, const std::string& labels) {
    write_file(dir.path() / "images.npy", images);
    config.images = (dir.path() / "images.npy").string();
    if (!labels.empty()) {
      write_file(dir.path() / "labels.npy", labels);
      config.labels = (dir.path() / "labels.npy").string();
    }
    config.batch_size = 2;
  }
  std::string wrong() const { return complaint<data::NpyInput>(config); }
  Batch batch() const {
    InputContext context;
    return data::NpyInput(config, context).get_next().value();
  }
};

std::string wrong_images(const std::string& bytes) {
  return Files(bytes, "").wrong();
}
std::string wrong_labels(const std::string& bytes, std::int64_t num_classes = 0) {
  Files files(npy(dict("<f4", "(2, 3)"), raw<float>({1, 2, 3, 4, 5, 6})), bytes);
  files.config.num_classes = num_classes;
  return files.wrong();
}

}  // namespace

TEST_CASE("NumPy files of every type are read") {
  const std::vector<float> expected = {1, 2, 3, 4, 5, 6};
  const std::string files[] = {npy(dict("<f4", "(2, 3)"), raw<float>({1, 2, 3, 4, 5, 6})),
                               npy(dict("<f8", "(2, 3)"), raw<double>({1, 2, 3, 4, 5, 6})),
                               npy(dict("<i4", "(2, 3)"), raw<std::int32_t>({1, 2, 3, 4, 5, 6})),
                               npy(dict("<i8", "(2, 3)"), raw<std::int64_t>({1, 2, 3, 4, 5, 6})),
                               npy(dict("|u1", "(2, 3)"), raw<std::uint8_t>({1, 2, 3, 4, 5, 6}))};
  for (const std::string& bytes : files) {
    Files file(bytes, "");
    file.config.scale = 1;
    const Batch batch = file.batch();
    CHECK(batch.at("image").shape() == Shape{2, 3});
    CHECK(batch.at("image").to_host<float>() == expected);
    CHECK_FALSE(batch.contains("label"));
    file.config.mean = {1, 2, 3};
    file.config.std = {2};
    CHECK(file.batch().at("image").to_host<float>() == std::vector<float>{0, 0, 0, 1.5, 1.5, 1.5});
    // Each of the three alone changes the values.
    file.config.mean = {0};
    CHECK(file.batch().at("image").to_host<float>() == std::vector<float>{0.5, 1, 1.5, 2, 2.5, 3});
    file.config.std = {1};
    file.config.mean = {1};
    CHECK(file.batch().at("image").to_host<float>() == std::vector<float>{0, 1, 2, 3, 4, 5});
    file.config.mean = {0};
    file.config.scale = 2;
    CHECK(file.batch().at("image").to_host<float>() == std::vector<float>{2, 4, 6, 8, 10, 12});
  }
}

TEST_CASE("bytes are scaled by 1/255 by default; images get a channel axis") {
  const Files file(npy(dict("|u1", "(2, 1, 2)"), raw<std::uint8_t>({0, 255, 51, 102})), "");
  const Batch batch = file.batch();
  CHECK(batch.at("image").shape() == Shape{2, 1, 2, 1});
  CHECK(batch.at("image").to_host<float>() == std::vector<float>{0, 1, 0.2F, 0.4F});
}

TEST_CASE("labels of any integer type are read") {
  const std::string images = npy(dict("<f4", "(2, 1)"), raw<float>({1, 2}));
  const std::string labels[] = {npy(dict("<i8", "(2,)"), raw<std::int64_t>({3, 9})),
                                npy(dict("<i4", "(2,)"), raw<std::int32_t>({3, 9})),
                                npy(dict("|u1", "(2,)"), raw<std::uint8_t>({3, 9}))};
  for (const std::string& bytes : labels) {
    CHECK(Files(images, bytes).batch().at("label").to_host<std::int32_t>() ==
          std::vector<std::int32_t>{3, 9});
  }
}

TEST_CASE("a header of version 2 is read") {
  std::string bytes = "\x93NUMPY";
  bytes += std::string("\2\0", 2);
  const std::string header = dict("<f4", "(1, 1)") + "\n";
  bytes += static_cast<char>(header.size());
  bytes += std::string(3, '\0');
  const Files file(bytes + header + raw<float>({2.5F}), "");
  CHECK(file.batch().at("image").to_host<float>() == std::vector<float>{2.5F, 2.5F});
}

TEST_CASE("unsupported NumPy data is refused with the reason") {
  const std::string four = raw<float>({1, 2, 3, 4});
  CHECK_THAT(wrong_images(npy(dict("<f4", "(2, 2)", "True"), four)), Contains("Fortran order"));
  CHECK_THAT(wrong_images(npy(dict(">f4", "(2, 2)"), four)), Contains("'>f4' (big-endian)"));
  CHECK_THAT(wrong_images(npy(dict("|O", "(2, 2)"), four)), Contains("type '|O'"));
  CHECK_THAT(
      wrong_images(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", four)),
      Contains("structured array"));
  CHECK_THAT(wrong_images(npy(dict("<f4", "(4,)"), four)), Contains("one axis"));
  CHECK_THAT(wrong_images(npy(dict("<f4", "()"), raw<float>({1}))), Contains("0 axes"));
  CHECK_THAT(wrong_images(npy(dict("<f4", "(1, 1, 1, 1, 1, 1, 4)"), four)), Contains("7 axes"));
  CHECK_THAT(wrong_images(npy(dict("<f4", "(4, 0)"), "")), Contains("no elements"));
}

TEST_CASE("a broken NumPy file is refused") {
  const std::string whole = npy(dict("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}));
  CHECK(wrong_images(whole).empty());
  for (std::size_t size = 1; size < whole.size(); ++size) {
    INFO("cut at " << size);
    CHECK_THAT(wrong_images(whole.substr(0, size)), Contains("cut off") || Contains("not a NumPy"));
  }
  CHECK_THAT(wrong_images(whole + "xx"), Contains("2 bytes follow the last of 2 records"));
  CHECK_THAT(wrong_images("P" + whole), Contains("not a NumPy file"));
  const std::string huge = "9223372036854775807";
  CHECK_THAT(wrong_images(npy(dict("<f4", "(" + huge + ", 4)"), "")), Contains("fit in 63 bits"));
  CHECK_THAT(wrong_images(npy(dict("<f4", "(0, " + huge + ", 4)"), "")),
             Contains("fit in 63 bits"));
  CHECK_THAT(wrong_images(npy(dict("<f4", "(1, " + huge + "0)"), "")), Contains("shape"));
  CHECK_THAT(wrong_images(npy(dict("<f4", "(-1, 4)"), "")), Contains("shape"));
  CHECK_THAT(wrong_images(npy("{'descr': '<f4', 'shape': (1, 1)}", "")), Contains("not complete"));
  CHECK_THAT(wrong_images(npy("{'descr': '<f4', 'descr': '<f4'}", "")), Contains("repeated key"));
  CHECK_THAT(wrong_images(npy("{'descr: <f4", "")), Contains("cut off"));
  CHECK_THAT(wrong_images(npy("import os", "")), Contains("malformed"));
  CHECK_THAT(wrong_images(npy(dict("<f4", "(1, 1)") + " x", raw<float>({1}))),
             Contains("not complete"));
}

TEST_CASE("NumPy labels that do not fit are refused") {
  CHECK_THAT(wrong_labels(npy(dict("<i4", "(3,)"), raw<std::int32_t>({1, 2, 3}))),
             Contains("3 labels do not fit the 2 examples"));
  CHECK_THAT(wrong_labels(npy(dict("<i4", "(2, 1)"), raw<std::int32_t>({1, 2}))),
             Contains("2 axes; labels have one"));
  CHECK_THAT(wrong_labels(npy(dict("<f4", "(2,)"), raw<float>({1, 2}))),
             Contains("must be integers"));
  CHECK_THAT(wrong_labels(npy(dict("<i4", "(2,)"), raw<std::int32_t>({1, -1}))),
             Contains("label -1 of record 1"));
  CHECK_THAT(wrong_labels(npy(dict("<i8", "(2,)"), raw<std::int64_t>({1, std::int64_t{1} << 40}))),
             Contains("label 1099511627776 of record 1"));
  CHECK_THAT(wrong_labels(npy(dict("<i4", "(2,)"), raw<std::int32_t>({1, 10})), 10),
             Contains("label 10 of record 1 is not in 0 to 9"));
}

}  // namespace data_npy_test
