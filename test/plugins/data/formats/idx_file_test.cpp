// SPDX-License-Identifier: Apache-2.0
// data/Idx: values, shapes, and every kind of invalid file.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "plugins/data/files.h"

namespace data_idx_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

// A folder with images.idx and labels.idx, and a config that reads them.
struct Files {
  TempDir dir;
  data::IdxConfig config;

  Files(const std::string& images, const std::string& labels) {
    write_file(dir.path() / "images.idx", images);
    config.images = (dir.path() / "images.idx").string();
    if (!labels.empty()) {
      write_file(dir.path() / "labels.idx", labels);
      config.labels = (dir.path() / "labels.idx").string();
    }
    config.batch_size = 4;
  }
  std::string wrong() const { return complaint<data::IdxInput>(config); }
};

std::string wrong_images(const std::string& bytes) {
  return Files(bytes, "").wrong();
}
std::string wrong_labels(const std::string& bytes, std::int64_t num_classes = 0) {
  Files files(numbered_images(10), bytes);
  files.config.num_classes = num_classes;
  return files.wrong();
}

Batch first_batch(const data::IdxConfig& config) {
  InputContext context;
  return data::IdxInput(config, context).get_next().value();
}

}  // namespace

TEST_CASE("IDX images come out normalized, with labels and weights, gzip or not") {
  const std::string pixels("\x00\x33\x66\xff\x80\x01\x02\x03", 8);
  const std::string images = idx({2, 2, 2}, pixels), labels = idx({2}, "\7\2");
  for (const bool packed : {false, true}) {
    Files files(packed ? gzip(images) : images, packed ? gzip(labels) : labels);
    files.config.batch_size = 2;
    files.config.mean = {0.25};
    files.config.std = {0.5};
    const Batch batch = first_batch(files.config);
    CHECK(batch.at("image").shape() == Shape{2, 2, 2, 1});
    CHECK(batch.at("label").to_host<std::int32_t>() == std::vector<std::int32_t>{7, 2});
    CHECK(batch.at("weight").to_host<float>() == std::vector<float>{1, 1});
    const auto values = batch.at("image").to_host<float>();
    for (std::size_t i = 0; i < 8; ++i) {
      const double byte = static_cast<unsigned char>(pixels[i]);
      // One rounding, from double to float.
      CHECK(values[i] == static_cast<float>((byte * (1.0 / 255) - 0.25) / 0.5));
    }
  }
}

TEST_CASE("color images have a mean and std for each channel; features keep their axis") {
  const std::string pixels = "\1\2\3\4\5\6";
  Files color(idx({1, 1, 2, 3}, pixels), "");
  color.config.batch_size = 1;
  color.config.channels = 3;
  color.config.scale = 1;
  color.config.mean = {0, 1, 2};
  color.config.std = {1, 2, 4};
  Batch batch = first_batch(color.config);
  CHECK(batch.at("image").shape() == Shape{1, 1, 2, 3});
  CHECK(batch.at("image").to_host<float>() == std::vector<float>{1, 0.5, 0.25, 4, 2, 1});
  CHECK_FALSE(batch.contains("label"));

  Files features(idx({2, 3}, pixels), "");
  features.config.batch_size = 2;
  CHECK(first_batch(features.config).at("image").shape() == Shape{2, 3});

  color.config.mean = {0, 1};
  CHECK_THAT(color.wrong(), Contains("mean and std need one number, or one for each of its 3"));
  color.config.mean = {0};
  color.config.channels = 1;
  CHECK_THAT(color.wrong(), Contains("[1, 2, 3], which is not an image with 1 channels"));
}

TEST_CASE("an IDX file that is missing, empty, no file or unreadable is named") {
  Files files(numbered_images(10), "");
  const auto path = files.dir.path() / "images.idx";
  std::filesystem::remove(path);
  CHECK_THAT(files.wrong(), Contains("images.idx: cannot open: No such file"));
  write_file(path, "");
  CHECK_THAT(files.wrong(), Contains("images.idx: the file is empty"));
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  CHECK_THAT(files.wrong(), Contains("images.idx: a directory, not a file"));
  std::filesystem::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK_THAT(files.wrong(), Contains("images.idx: not a regular file"));
}

TEST_CASE("an unreadable IDX file is named in the error") {
  Files files(numbered_images(10), "");
  std::filesystem::permissions(files.dir.path() / "images.idx", std::filesystem::perms::none);
  std::filesystem::permissions(files.dir.path(), std::filesystem::perms::all);
  // In a child that is not root, since root may read any file.
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    _exit(files.wrong().find("cannot open: Permission denied") != std::string::npos ? 7 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("an IDX file cut at any byte is refused, plain and inside gzip") {
  const std::string whole = numbered_images(10);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    INFO("cut at " << size);
    CHECK_THAT(wrong_images(whole.substr(0, size)), Contains("cut off"));
    CHECK_THAT(wrong_images(gzip(whole.substr(0, size))), Contains("cut off"));
  }
  CHECK(wrong_images(whole).empty());
  CHECK_THAT(wrong_images(whole.substr(0, 16 + 4 * 6 + 1)),
             Contains("cut off in record 6 of 10 (byte 41 of 56)"));
}

TEST_CASE("a gzip file cut at any byte is refused") {
  const std::string whole = gzip(numbered_images(10));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    INFO("cut at " << size);
    CHECK_THAT(wrong_images(whole.substr(0, size)),
               Contains("cut off") || Contains("not an IDX file"));
  }
  CHECK_THAT(wrong_images(whole.substr(0, whole.size() - 9)),
             Contains("the gzip data is cut off after"));
}

TEST_CASE("damaged gzip data is found by its checksum, whichever byte changed") {
  const std::string whole = gzip(numbered_images(300));
  for (std::size_t i = 10; i < whole.size(); ++i) {
    if (i == whole.size() - 9) continue;  // the last byte of the stream has unused bits
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    INFO("byte " << i);
    CHECK(!wrong_images(changed).empty());
  }
  std::string changed = whole;
  changed[whole.size() - 6] ^= 1;  // in the checksum
  CHECK_THAT(wrong_images(changed), Contains("the gzip data is damaged after"));
}

TEST_CASE("a file that is not an IDX file of bytes is refused with the reason") {
  CHECK_THAT(wrong_images("PNG..............."),
             Contains("starts with 504e472e, expected 000008.."));
  CHECK_THAT(wrong_images(idx({1, 2}, "12345678", 0x0d)), Contains("has 32-bit floats; only"));
  CHECK_THAT(wrong_images(idx({1, 2}, "1234", 0x77)), Contains("has type 119; only"));
  CHECK_THAT(wrong_images(idx({}, "")), Contains("has 0 axes"));
  CHECK_THAT(wrong_images(idx({1, 1, 1, 1, 1, 1, 1}, "1")), Contains("has 7 axes"));
  CHECK_THAT(wrong_images(idx({4}, "1234")), Contains("holds labels, not images"));
  CHECK_THAT(wrong_images(idx({3, 0}, "")), Contains("have no elements"));
  CHECK_THAT(wrong_images(idx({0, 2, 2}, "")), Contains("there are no examples"));
}

TEST_CASE("bytes after the last record are refused, plain, inside gzip and after it") {
  const std::string whole = numbered_images(10);
  CHECK_THAT(wrong_images(whole + "xyz"), Contains("3 bytes follow the last of 10 records"));
  CHECK_THAT(wrong_images(gzip(whole + "x")), Contains("more than the 56 bytes that its header"));
  CHECK_THAT(wrong_images(gzip(whole) + "xyz"), Contains("3 bytes of other data follow"));
  CHECK_THAT(wrong_images(gzip(whole) + gzip("x")), Contains("more than the 56 bytes"));
}

TEST_CASE("several gzip members in a row are one file") {
  const std::string whole = numbered_images(10);
  CHECK(wrong_images(gzip(whole.substr(0, 30)) + gzip(whole.substr(30))).empty());
}

TEST_CASE("a gzip bomb uses no more memory than its header declares, up to the limit") {
  const std::string bomb = gzip(idx({1, 2, 2}, std::string(50'000'000, '\0')));
  CHECK(bomb.size() < 100'000);
  CHECK_THAT(wrong_images(bomb), Contains("holds more than the 20 bytes that its header declares"));
  Files files(gzip(idx({100, 100, 100}, std::string(1'000'000, '\0'))), "");
  CHECK(files.wrong().empty());
  files.config.limit = 1'000'000;
  CHECK_THAT(files.wrong(), Contains("declares 1000000 bytes, more than the limit of 1000000") &&
                                Contains("limit"));
  files.config.limit = 1'000'016;
  CHECK(files.wrong().empty());
}

TEST_CASE("extents that overflow are refused") {
  const std::uint32_t most = 0xffffffff;
  CHECK_THAT(wrong_images(idx({most, most, most, most}, "")), Contains("more than 2^63 bytes"));
  // Found by fuzzing: of no examples the product is 0, of one it overflows.
  CHECK_THAT(wrong_images(idx({0, most, most, most}, "")), Contains("more than 2^63 bytes"));
  CHECK_THAT(wrong_images(idx({most, most}, "")), Contains("more than the limit"));
  CHECK_THAT(wrong_images(idx({most, most, most, 0}, "")), Contains("more than"));
  CHECK_THAT(wrong_images(gzip(idx({most, 28, 28}, ""))), Contains("more than the limit"));
}

TEST_CASE("labels that do not fit the images are refused") {
  CHECK_THAT(wrong_labels(cyclic_labels(9, 3)), Contains("9 labels do not fit the 10 images"));
  CHECK_THAT(wrong_labels(numbered_images(10)), Contains("has 3 axes; labels have one"));
  CHECK(wrong_labels(cyclic_labels(10, 3), 3).empty());
  CHECK_THAT(wrong_labels(cyclic_labels(10, 4), 3),
             Contains("labels.idx: label 3 of record 3 is not below num_classes = 3"));
  CHECK(wrong_labels(cyclic_labels(10, 4)).empty());
  CHECK_THAT(wrong_labels(cyclic_labels(10, 4).substr(0, 12)), Contains("labels.idx: cut off"));
}

}  // namespace data_idx_test
