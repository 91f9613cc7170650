// SPDX-License-Identifier: Apache-2.0
// Several labels for an example, from NumPy files: training, metrics, predictions, and resuming.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace labels_test {

namespace test = trivet::test;
using Catch::Contains;
using nlohmann::json;
using test::quoted, test::records, test::run, test::TempDir;
namespace fs = std::filesystem;

namespace {

constexpr int kFeatures = 6, kClasses = 3;

// A .npy file of f4, version 1.0.
std::string npy(const std::string& shape, const std::vector<float>& values) {
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  dict += std::string(63 - (dict.size() + 10) % 64, ' ') + "\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(dict.size() % 256);
  bytes += static_cast<char>(dict.size() / 256);
  bytes += dict;
  const std::size_t start = bytes.size();
  bytes.resize(start + values.size() * sizeof(float));
  std::memcpy(bytes.data() + start, values.data(), values.size() * sizeof(float));
  return bytes;
}

// Label c is whether feature c is larger than feature c + 3; none, one or several are.
void write_data(const TempDir& temp, const std::string& name, int rows, int first) {
  std::vector<float> features, labels;
  for (int i = first; i < first + rows; ++i) {
    for (int f = 0; f < kFeatures; ++f) {
      features.push_back(static_cast<float>((i * 37 + f * f * 11 + (i % 7) * f) % 23) / 23);
    }
    const float* row = &features[features.size() - kFeatures];
    for (int c = 0; c < kClasses; ++c) labels.push_back(row[c] > row[c + 3] ? 1.0F : 0.0F);
  }
  temp.write(name + "_x.npy", npy(std::to_string(rows) + ", 1, 6", features));
  temp.write(name + "_y.npy", npy(std::to_string(rows) + ", 3", labels));
}

std::string input(const TempDir& temp, const std::string& name) {
  return "type = 'data/Npy'\nbatch_size = 32\nimages = '" + (temp / (name + "_x.npy")).string() +
         "'\nlabels = '" + (temp / (name + "_y.npy")).string() + "'\n";
}

fs::path config_in(const TempDir& temp) {
  write_data(temp, "train", 512, 0);
  write_data(temp, "eval", 100, 5000);
  return temp.write(
      "config.toml",
      "seed = 1\n[task]\ntype = 'vision/ImageClassification'\nnum_classes = 3\n"
      "loss = 'sigmoid'\nmulti_label = true\nclass_names = ['a', 'b', 'c']\n"
      "[task.model]\ntype = 'vision/Mlp'\nimage_shape = [1, 6, 1]\nhidden_dims = [32]\nnum_classes "
      "= 3\n"
      "[[task.metrics]]\ntype = 'metrics/F1'\nmulti_label = true\naverage = 'micro'\n"
      "[[task.metrics]]\ntype = 'metrics/AveragePrecision'\nmulti_label = true\n"
      "average = 'macro'\n"
      "[task.train_input]\nshuffle = true\n" +
          input(temp, "train") + "[task.eval_input]\n" + input(temp, "eval") +
          "[runtime]\nthreads = 1\n[trainer]\ntrain_steps = 400\nlearning_rate = 0.01\n"
          "optimizer = 'optim/Adam'\ncheckpoint_interval = 200\n");
}

}  // namespace

TEST_CASE("several labels are learned, scored and predicted") {
  const TempDir temp;
  const fs::path file = config_in(temp);
  const auto trained = run(file, temp / "run");
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  const json values = records(temp / "run", "eval").back().at("values");
  CHECK(values.at("binary_accuracy") > 0.95);
  CHECK(values.at("f1") > 0.95);
  CHECK(values.at("average_precision") > 0.98);
  CHECK_FALSE(values.contains("accuracy"));
  CHECK_FALSE(fs::exists(temp / "run" / "confusion_matrix.csv"));

  // The share of right classes and the loss, from what is predicted.
  const auto predicted = test::trivet("predict " + quoted((temp / "run").string()) + " --input " +
                                      quoted((temp / "eval_x.npy").string()));
  INFO(predicted.output);
  REQUIRE(predicted.exit_code == 0);
  const std::string labels = test::read_file(temp / "eval_y.npy");
  std::istringstream lines(predicted.output);
  std::size_t at = labels.size() - 100 * kClasses * sizeof(float);
  int rows = 0, right = 0;
  double loss = 0;
  for (std::string text; std::getline(lines, text); ++rows) {
    const json line = json::parse(text);
    for (const char* name : {"a", "b", "c"}) {
      float label = 0;
      std::memcpy(&label, labels.data() + at, sizeof label);
      at += sizeof label;
      const double p = line.at("probabilities").at(name);
      const auto& classes = line.at("classes");
      const bool told = std::find(classes.begin(), classes.end(), name) != classes.end();
      CHECK(told == (p >= 0.5));
      right += told == (label == 1) ? 1 : 0;
      loss -= std::log(label == 1 ? p : 1 - p);
    }
  }
  CHECK(rows == 100);
  CHECK(right / 300.0 == Approx(values.at("binary_accuracy").get<double>()));
  CHECK(loss / 300 == Approx(values.at("validation_loss").get<double>()).epsilon(1e-4));
}

TEST_CASE("mixed and augmented images are the same after a resume", "[slow]") {
  const auto* name = GENERATE("vision/mixup.toml", "vision/rand_augment.toml");
  CAPTURE(name);
  const TempDir temp;
  const fs::path file = test::config(name);
  const std::string small =
      "trainer.train_steps=30 trainer.steps_per_loop=5 "
      "trainer.validation_interval=0 trainer.checkpoint_interval=10 "
      "runtime.threads=1 ";
  REQUIRE(run(file, temp / "whole", small).exit_code == 0);
  REQUIRE(run(file, temp / "parts", small + "trainer.train_steps=10").exit_code == 0);
  REQUIRE(run(file, temp / "parts", small).exit_code == 0);
  CHECK(test::read_file(temp / "whole/checkpoints/step_00000030/model.safetensors") ==
        test::read_file(temp / "parts/checkpoints/step_00000030/model.safetensors"));
}

}  // namespace labels_test
