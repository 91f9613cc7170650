// SPDX-License-Identifier: Apache-2.0
// The plugin's configs, through the round-trip check that plugin authors use, and their rules.
#include <catch2/catch.hpp>

#include "config_round_trip.h"
#include "vision/cnn.h"
#include "vision/image_classification.h"
#include "vision/metrics.h"
#include "vision/mlp.h"

namespace {

namespace vision = trivet::vision;
using trivet::test::check_round_trip;

// What validate() says, each "field: what (hint)".
template <class C>
std::vector<std::string> problems(const C& config) {
  trivet::Problems found;
  config.validate(found);
  std::vector<std::string> texts;
  for (const trivet::Problem& problem : found.list()) {
    texts.push_back(problem.path + ": " + problem.what +
                    (problem.hint.empty() ? "" : " (" + problem.hint + ")"));
  }
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the configs of vision survive the way to a file and back") {
  vision::ImageClassificationConfig task;
  task.num_classes = 7;
  task.label_smoothing = 0.1;
  task.top_k = 3;
  task.model = "vision/Mlp";
  check_round_trip(task);
  vision::MlpConfig mlp;
  mlp.image_shape = {4, 5, 3};
  mlp.hidden_dims = {8, 6};
  mlp.dropout = 0.25;
  check_round_trip(mlp);
  vision::CnnConfig cnn;
  cnn.image_shape = {16, 8, 3};
  cnn.channels = {4, 5, 6};
  check_round_trip(cnn);
  check_round_trip(vision::AccuracyConfig{});
  check_round_trip(vision::TopKConfig{});
}

TEST_CASE("top_k must not be more than there are classes") {
  vision::ImageClassificationConfig config;
  config.num_classes = 4;
  CHECK(problems(config) ==
        Texts{"top_k: is 5 with only 4 classes (set it to num_classes or less)"});
  config.top_k = 4;
  CHECK(problems(config).empty());
}

TEST_CASE("an image shape has height, width and channels") {
  vision::MlpConfig mlp;
  mlp.image_shape = {28, 28};
  CHECK(problems(mlp) == Texts{"image_shape: must be [height, width, channels], has 2 numbers"});
  vision::CnnConfig cnn;
  cnn.image_shape = {1, 28, 28, 1};
  CHECK(problems(cnn) == Texts{"image_shape: must be [height, width, channels], has 4 numbers"});
  CHECK(problems(vision::MlpConfig{}).empty());
}

TEST_CASE("blocks that halve the image to nothing are refused") {
  vision::CnnConfig config;
  config.image_shape = {32, 7, 1};
  config.channels = {4, 4};
  CHECK(problems(config).empty());  // 7 -> 3 -> 1
  config.channels = {4, 4, 4};
  CHECK(problems(config) == Texts{"channels: has 3 blocks, which halve 7 pixels to nothing "
                                  "(use fewer blocks or larger images)"});
  config.channels.assign(100, 4);
  CHECK(problems(config).size() == 1);
}
