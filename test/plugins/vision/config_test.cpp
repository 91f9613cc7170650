// SPDX-License-Identifier: Apache-2.0
// The plugin's configs, through the round-trip check that plugin authors use, and their rules.
#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "vision/cnn.h"
#include "vision/image_classification.h"
#include "vision/metrics.h"
#include "vision/mlp.h"
#include "vision/mobilenet.h"
#include "vision/resnet.h"
#include "vision/revnet.h"
#include "vision/vanillanet.h"
#include "vision/vit.h"

namespace {

namespace vision = trivet::vision;
using trivet::test::check_round_trip;

// The diagnostics of validate(), each as "field: what (hint)".
template <class C>
std::vector<std::string> diagnostics(const C& config) {
  trivet::Diagnostics found;
  config.validate(found);
  std::vector<std::string> texts;
  for (const trivet::Diagnostic& problem : found.list()) {
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
  mlp.parametrization = "nn/FakeQuantization";
  mlp.input_quantization = "nn/ActivationQuantization";
  check_round_trip(mlp);
  vision::CnnConfig cnn;
  cnn.image_shape = {16, 8, 3};
  cnn.channels = {4, 5, 6};
  check_round_trip(cnn);
  vision::ResNetConfig resnet;
  resnet.block = vision::ResNetBlock::bottleneck;
  resnet.blocks = {2, 3};
  resnet.stem_pool = true;
  resnet.zero_init_residual = true;
  resnet.stem_type = vision::StemType::v1;
  resnet.replace_stem_max_pool = true;
  resnet.scale_stem = false;
  resnet.resnetd_shortcut = true;
  resnet.se_ratio = 0.25;
  resnet.stochastic_depth_drop_rate = 0.1;
  resnet.activation = "nn/Silu";
  check_round_trip(resnet);
  vision::RevNetConfig revnet;
  revnet.blocks = {1, 2};
  revnet.channels = {4, 6};
  revnet.add_head_batch_norm = false;
  revnet.checkpoint_policy = vision::CheckpointPolicy::save_nothing;
  check_round_trip(revnet);
  vision::MobileNetConfig mobile;
  mobile.multiplier = 0.5;
  mobile.channels = {8, 16};
  mobile.expansions = {1, 6};
  mobile.strides = {1, 2};
  check_round_trip(mobile);
  vision::VanillaNetConfig vanilla;
  vanilla.blocks = {1};
  vanilla.channels = {8};
  vanilla.strides = {2};
  vanilla.kernels = {5};
  check_round_trip(vanilla);
  vision::VitConfig vit;
  vit.patch = 7;
  vit.pooling = vision::VitPooling::mean;
  vit.position_emb = vision::VitPositions::sincos_2d;
  vit.dropout = 0.25;
  check_round_trip(vit);
  check_round_trip(vision::AccuracyConfig{});
  check_round_trip(vision::BinaryAccuracyConfig{});
  check_round_trip(vision::TopKConfig{});
}

TEST_CASE("top_k must not be more than there are classes") {
  vision::ImageClassificationConfig config;
  config.num_classes = 4;
  CHECK(diagnostics(config) == Texts{});
  config.top_k = 6;
  CHECK(diagnostics(config) ==
        Texts{"top_k: is 6 with only 4 classes (set it to num_classes or less)"});
  config.top_k = 4;
  CHECK(diagnostics(config).empty());
}

TEST_CASE("several labels need a sigmoid, and class weights one for each class") {
  vision::ImageClassificationConfig config;
  config.num_classes = 3;
  config.multi_label = true;
  CHECK(diagnostics(config) == Texts{"multi_label: is true, but a softmax has one right class "
                                     "(set loss = \"sigmoid\")"});
  config.loss = trivet::ClassLoss::sigmoid;
  config.top_k = 2;
  CHECK(diagnostics(config) ==
        Texts{"top_k: is set, but with multi_label no single class is right (remove it)"});
  config.top_k = 1;
  config.class_weights = {1, 2};
  CHECK(diagnostics(config) == Texts{"class_weights: has 2 weights, but num_classes is 3"});
  config.class_weights = {0, 0, 0};
  CHECK(diagnostics(config) == Texts{"class_weights: are all 0: there is nothing to learn"});
  config.class_weights = {0, 0, 1};
  CHECK(diagnostics(config).empty());
}

TEST_CASE("temperatures need the bi-tempered loss") {
  vision::ImageClassificationConfig config;
  config.t1 = 0.5;
  CHECK(diagnostics(config) ==
        Texts{"t1: has no effect with this loss (remove it, or set loss = \"bi_tempered\")"});
  config.loss = trivet::ClassLoss::bi_tempered;
  config.t2 = 1.5;
  CHECK(diagnostics(config).empty());
  config.t1 = 0.999;
  CHECK(diagnostics(config) ==
        Texts{"t1: is too near 1 for 32-bit floats (use 1, or at least 0.01 off it)"});
  config.t1 = 1;
  config.t2 = 1.00001;
  CHECK(diagnostics(config) ==
        Texts{"t2: is too near 1 for 32-bit floats (use 1, or at least 0.01 off it)"});
  config.t2 = 1.25;
  check_round_trip(config);
}

TEST_CASE("an image shape has height, width and channels") {
  vision::MlpConfig mlp;
  mlp.image_shape = {28, 28};
  CHECK(diagnostics(mlp) == Texts{"image_shape: must be [height, width, channels], has 2 numbers"});
  vision::CnnConfig cnn;
  cnn.image_shape = {1, 28, 28, 1};
  CHECK(diagnostics(cnn) == Texts{"image_shape: must be [height, width, channels], has 4 numbers"});
  CHECK(diagnostics(vision::MlpConfig{}).empty());
}

TEST_CASE("too many blocks for the image are refused") {
  vision::CnnConfig config;
  config.image_shape = {32, 7, 1};
  config.channels = {4, 4};
  CHECK(diagnostics(config).empty());  // 7 -> 3 -> 1
  config.channels = {4, 4, 4};
  CHECK(diagnostics(config) == Texts{"channels: has 3 blocks, which halve 7 pixels to nothing "
                                     "(use fewer blocks or larger images)"});
  config.channels.assign(100, 4);
  CHECK(diagnostics(config).size() == 1);
}

TEST_CASE("a ResNet has a depth of the table or its own blocks") {
  vision::ResNetConfig config;
  CHECK(diagnostics(config) == Texts{"blocks: is empty (set it, or depth)"});
  config.depth = 50;
  CHECK(diagnostics(config).empty());
  config.depth = 20;
  CHECK(
      diagnostics(config) ==
      Texts{"depth: is 20, which is not in the table (use 10, 18, 34, 50, 101, 152, 200, 270, 350 "
            "or 420, or set block and blocks instead)"});
  config.depth = 18;
  config.blocks = {1, 1};
  CHECK(diagnostics(config) == Texts{"blocks: is set together with depth (set one of them)"});
}

TEST_CASE("a ResNet that no memory could hold is refused") {
  vision::ResNetConfig config;
  config.blocks.assign(11, 1);
  CHECK(diagnostics(config) == Texts{"blocks: has 11 stages (use at most 10)"});
  config.blocks = {1, 10001};
  CHECK(diagnostics(config) == Texts{"blocks: has a stage of more than 10,000 blocks"});
  config.blocks = {1};
  config.width = (1 << 20) + 1;
  CHECK(diagnostics(config) == Texts{"width: is more than 1,048,576 filters"});
}

TEST_CASE("the filters of a ResNet's stem have a middle") {
  vision::ResNetConfig config;
  config.blocks = {1};
  config.stem_kernel = 4;
  CHECK(diagnostics(config) ==
        Texts{"stem_kernel: is even, so it has no center pixel (use an odd number)"});
}

TEST_CASE("the fields of ResNet-RS fit each other") {
  vision::ResNetConfig config;
  config.blocks = {1, 1};
  config.stem_type = vision::StemType::v1;
  config.resnetd_shortcut = true;
  CHECK(diagnostics(config) == Texts{});
  config.stem_kernel = 7;
  CHECK(diagnostics(config) ==
        Texts{"stem_kernel: is 7, but stem_type = \"v1\" has filters of 3 x 3 "
              "(remove it, or set stem_type = \"v0\")"});
  config.stem_kernel = 3;
  config.width = 3;
  CHECK(diagnostics(config) ==
        Texts{"width: is odd, but the first filters of stem_type = \"v1\" are half as many (use an "
              "even number, or set scale_stem = false)"});
  config.scale_stem = false;
  CHECK(diagnostics(config) == Texts{});
  config.replace_stem_max_pool = true;
  CHECK(diagnostics(config) ==
        Texts{"replace_stem_max_pool: is true, but there is no pooling to replace (set stem_pool = "
              "true, or remove it)"});
  config.stem_pool = true;
  CHECK(diagnostics(config) == Texts{});
  config.blocks = {1};
  CHECK(
      diagnostics(config) ==
      Texts{"resnetd_shortcut: is true, but no shortcut of a single stage halves the image (remove "
            "it)"});
}

TEST_CASE("a Vit's depth has the name that other models give it, and is still found as dims") {
  using trivet::Value;
  const auto depth = [](const char* name) {
    return trivet::decode<vision::VitConfig>(Value::table({{name, 8}})).model_dims;
  };
  CHECK(depth("model_dims") == 8);
  CHECK(depth("dims") == 8);
}

TEST_CASE("a Vit's patches cover the image, and its heads the depth") {
  vision::VitConfig config;
  CHECK(diagnostics(config).empty());
  config.patch = 5;
  CHECK(diagnostics(config) ==
        Texts{"patch: is 5, which does not divide an image of 28 x 28 pixels"});
  config.patch = 7;
  config.num_heads = 5;
  CHECK(diagnostics(config) == Texts{"num_heads: is 5, which does not divide model_dims = 64"});
  config.image_shape = {28};
  config.num_heads = 4;
  CHECK(diagnostics(config) ==
        Texts{"image_shape: must be [height, width, channels], has 1 numbers"});
}
