// SPDX-License-Identifier: Apache-2.0
// Fashion-MNIST as PNG and JPEG files trains as the IDX files do: PNG, also in tar files, to the
// same bytes, JPEG to the same accuracy; as TFRecords to the bytes of IDX files. Needs the data
// set.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "plugins/data/records.h"
#include "program/run/run_fixture.h"
#include "support/images/image_files.h"
#include "support/shell.h"
#include "trivet/os/input_file.h"

namespace image_folder_program_test {

namespace test = trivet::test;
using nlohmann::json;
using test::config, test::quoted, test::records, test::run, test::TempDir;
namespace fs = std::filesystem;

namespace {

const fs::path kData = "/usr/share/datasets/fashion-mnist";
constexpr std::size_t kImages = 16, kLabels = 8, kPixels = 784;  // headers, and bytes of an image

// The first n examples of a pair of IDX files.
struct Examples {
  Examples(const std::string& name, std::size_t n) : count(n) {
    images = trivet::input_text((kData / (name + "-images-idx3-ubyte.gz")).string(), 1 << 28);
    labels = trivet::input_text((kData / (name + "-labels-idx1-ubyte.gz")).string(), 1 << 28);
    images.resize(kImages + n * kPixels);
    labels.resize(kLabels + n);
    for (std::string* file : {&images, &labels}) {
      for (int i = 0; i < 4; ++i) (*file)[4 + i] = static_cast<char>(n >> (24 - 8 * i));
    }
  }
  std::span<const std::uint8_t> pixels(std::size_t i) const {
    return {reinterpret_cast<const std::uint8_t*>(images.data()) + kImages + i * kPixels, kPixels};
  }
  int label(std::size_t i) const { return labels[kLabels + i]; }

  std::size_t count;
  std::string images, labels;
};

// Files in the order of the IDX file within each class; the classes in order, so the examples of
// the IDX files are sorted the same way.
void write_all(const TempDir& temp, const std::string& split, const Examples& examples) {
  std::string images = examples.images.substr(0, kImages),
              labels = examples.labels.substr(0, kLabels);
  for (int label = 0; label < 10; ++label) {
    for (std::size_t i = 0; i < examples.count; ++i) {
      if (examples.label(i) != label) continue;
      char name[64];
      std::snprintf(name, sizeof name, "/%s/%d/%06zu", split.c_str(), label, i);
      temp.write("png" + std::string(name) + ".png", test::png_file(examples.pixels(i), {28, 28}));
      temp.write("jpeg" + std::string(name) + ".jpg",
                 test::jpeg_file(examples.pixels(i), {28, 28}));
      std::snprintf(name, sizeof name, "members/%s/%d-%06zu", split.c_str(), label, i);
      temp.write(std::string(name) + ".png", test::png_file(examples.pixels(i), {28, 28}));
      temp.write(std::string(name) + ".cls", std::to_string(label));
      images += examples.images.substr(kImages + i * kPixels, kPixels);
      labels += examples.labels[kLabels + i];
    }
  }
  temp.write("idx/" + split + "-images", images);
  temp.write("idx/" + split + "-labels", labels);
  // Two shards, the second one compressed.
  fs::create_directories(temp / "tar");
  const std::string archive = (temp / ("tar/" + split)).string();
  const auto packed =
      test::shell("cd " + quoted((temp / ("members/" + split)).string()) + " && tar -cf " +
                  quoted(archive + "-0.tar") + " [0-4]* && tar -czf " +
                  quoted(archive + "-1.tar.gz") + " [5-9]*");
  INFO(packed.output);
  REQUIRE(packed.exit_code == 0);
}

std::string idx_input(const TempDir& temp, const std::string& split) {
  return "type = 'data/Idx'\nimages = '" + (temp / ("idx/" + split + "-images")).string() +
         "'\nlabels = '" + (temp / ("idx/" + split + "-labels")).string() + "'\n";
}

std::string folder_input(const TempDir& temp, const std::string& kind, const std::string& split) {
  return "type = 'data/ImageFolder'\nnum_classes = 10\npath = '" +
         (temp / (kind + "/" + split)).string() + "'\n";
}

std::string tar_input(const TempDir& temp, const std::string& split) {
  return "type = 'data/ImageTar'\nnum_classes = 10\nin_memory = false\nfiles = ['" +
         (temp / ("tar/" + split + "-*")).string() + "']\n";
}

// PNG files, and their pixels, with the class.
void write_records(const TempDir& temp, const std::string& split, const Examples& examples) {
  std::string records;
  for (std::size_t i = 0; i < examples.count; ++i) {
    const auto pixels = examples.pixels(i);
    const std::string raw(pixels.begin(), pixels.end());
    records += test::framed(
        test::tf_example({{"png", test::bytes_feature({test::png_file(pixels, {28, 28})})},
                          {"raw", test::bytes_feature({raw})},
                          {"class", test::ints_feature({examples.label(i)})}}));
  }
  temp.write("records/" + split, records);
  temp.write("idx/" + split + "-images", examples.images);
  temp.write("idx/" + split + "-labels", examples.labels);
}

std::string records_input(const TempDir& temp, const std::string& split,
                          const std::string& encoding) {
  return "type = 'data/Records'\nfiles = ['" + (temp / ("records/" + split)).string() +
         "']\nfeatures.label = { feature = 'class', dtype = 'i32' }\nfeatures.image = { feature = "
         "'" +
         (encoding == "image" ? "png" : "raw") + "', shape = [28, 28, 1], encoding = '" + encoding +
         "' }\n";
}

fs::path config_of(
    const TempDir& temp, const std::string& name, const std::string& train, const std::string& eval,
    const std::string& norm = "mean = [0.2860]\nstd = [0.3530]\nbatch_size = 100\n") {
  return temp.write(name + ".toml",
                    "seed = 1\n[task]\ntype = 'vision/ImageClassification'\n[task.model]\n"
                    "type = 'vision/Mlp'\nimage_shape = [28, 28, 1]\nhidden_dims = [64]\n"
                    "[task.train_input]\nshuffle = true\n" +
                        norm + train + "[task.eval_input]\n" + norm + eval +
                        "[runtime]\nthreads = 1\n[trainer]\ntrain_steps = 240\n"
                        "learning_rate = 0.002\noptimizer = 'optim/Adam'\n");
}

double accuracy(const fs::path& workdir) {
  return records(workdir, "eval").back().at("values").at("accuracy");
}

std::string model(const fs::path& workdir) {
  return test::read_file(workdir / "checkpoints/step_00000240/model.safetensors");
}

}  // namespace

TEST_CASE("Fashion-MNIST as PNG files trains to the bytes of the IDX run, as JPEG to its accuracy",
          "[slow]") {
  if (!fs::exists(kData)) {
    WARN("skipped: the package dataset-fashion-mnist is not installed");
    return;
  }
  const TempDir temp;
  write_all(temp, "train", Examples("train", 3000));
  write_all(temp, "test", Examples("t10k", 1000));
  const auto trained = [&](const std::string& name, const std::string& train,
                           const std::string& eval) {
    const auto result = run(config_of(temp, name, train, eval), temp / ("run-" + name));
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return temp / ("run-" + name);
  };
  const fs::path idx = trained("idx", idx_input(temp, "train"), idx_input(temp, "test"));
  const fs::path png =
      trained("png", folder_input(temp, "png", "train"), folder_input(temp, "png", "test"));
  const fs::path jpeg =
      trained("jpeg", folder_input(temp, "jpeg", "train"), folder_input(temp, "jpeg", "test"));
  const fs::path tars = trained("tar", tar_input(temp, "train"), tar_input(temp, "test"));
  CHECK(model(png) == model(idx));
  CHECK(model(tars) == model(idx));
  CHECK(accuracy(tars) == accuracy(idx));
  CHECK(accuracy(png) == accuracy(idx));
  CHECK(accuracy(idx) > 0.75);
  CHECK(std::abs(accuracy(jpeg) - accuracy(idx)) < 0.02);

  // Predictions of the files are those of the evaluation, each by its name.
  const auto predicted = test::trivet("predict " + quoted(png.string()) + " --input " +
                                      quoted((temp / "png/test").string()));
  REQUIRE(predicted.exit_code == 0);
  std::istringstream lines(predicted.output);
  int rows = 0, right = 0;
  for (std::string text; std::getline(lines, text); ++rows) {
    const json line = json::parse(text);
    const std::string source = line.at("source");
    right += fs::path(source).parent_path().filename() == line.at("class").get<std::string>();
  }
  CHECK(rows == 1000);
  CHECK(right / 1000.0 == Approx(accuracy(png)));

  // A shard is predicted, too.
  const auto of_shard = test::trivet("predict " + quoted(tars.string()) + " --input " +
                                     quoted((temp / "tar/test-0.tar").string()));
  REQUIRE(of_shard.exit_code == 0);
  CHECK_THAT(of_shard.output, Catch::Contains("test-0.tar:0-0"));
}

TEST_CASE("Fashion-MNIST as TFRecords trains to the bytes of the IDX run", "[slow]") {
  if (!fs::exists(kData)) {
    WARN("skipped: the package dataset-fashion-mnist is not installed");
    return;
  }
  const TempDir temp;
  write_records(temp, "train", Examples("train", 1000));
  write_records(temp, "test", Examples("t10k", 200));
  const auto trained = [&](const std::string& name, const std::string& train,
                           const std::string& eval) {
    const auto result =
        run(config_of(temp, name, train, eval, "batch_size = 100\n"), temp / ("run-" + name));
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return temp / ("run-" + name);
  };
  const fs::path idx = trained("idx", idx_input(temp, "train"), idx_input(temp, "test"));
  for (const std::string encoding : {"image", "bytes"}) {
    const fs::path own = trained(encoding, records_input(temp, "train", encoding),
                                 records_input(temp, "test", encoding));
    CHECK(model(own) == model(idx));
    CHECK(accuracy(own) == accuracy(idx));
  }
  const auto predicted = test::trivet("predict " + quoted((temp / "run-image").string()) +
                                      " --input " + quoted((temp / "records/test").string()));
  REQUIRE(predicted.exit_code == 0);
  CHECK_THAT(predicted.output, Catch::Contains("records/test, record 200"));
}

}  // namespace image_folder_program_test
