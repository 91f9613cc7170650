// SPDX-License-Identifier: Apache-2.0
// ImageClassification's loss with weights and label smoothing against the formula in double, and
// its corners.
#include "trivet/task.h"

#include <cmath>
#include <memory>

#include <catch2/catch.hpp>

#include "batch.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/config/json.h"
#include "vision/image_classification.h"

namespace vision_task_test {
namespace {

using trivet::Batch;
using trivet::NestedMap;
using trivet::Tensor;
using trivet::test::random_values;
using trivet::vision::ImageClassification;
using trivet::vision::ImageClassificationConfig;

constexpr std::size_t kClasses = 6;

const std::vector<float> kLogits = random_values(5 * kClasses, 21, 3);
const std::vector<std::int32_t> kLabels = {0, 5, 2, 2, 4};

// sum_i w_i L_i / sum_i w_i, L_i = -sum_c q_c log softmax(z_i)_c with
// q = (1 - smoothing) onehot + smoothing / classes (Szegedy et al. 2016, section 7).
double reference(const std::vector<float>& logits, const std::vector<std::int32_t>& labels,
                 const std::vector<float>& weights, double smoothing) {
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* z = &logits[i * kClasses];
    double normalizer = 0, loss = 0;
    for (std::size_t c = 0; c < kClasses; ++c) normalizer += std::exp(static_cast<double>(z[c]));
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double hit = static_cast<std::size_t>(labels[i]) == c ? 1 - smoothing : 0;
      loss -= (hit + smoothing / kClasses) * (static_cast<double>(z[c]) - std::log(normalizer));
    }
    sum += static_cast<double>(weights[i]) * loss;
    total += static_cast<double>(weights[i]);
  }
  return sum / total;
}

struct Fixture {
  explicit Fixture(ImageClassificationConfig config = {})
      : device(trivet::test::open_device("tiny/Backend")) {
    config.num_classes = kClasses;
    trivet::TaskContext context{*device, {}};
    task = std::make_unique<ImageClassification>(config, context);
  }

  trivet::WeightedScalar loss(const std::vector<float>& weights) {
    const Batch batch = trivet::test::labels(kLabels, weights).to(*device);
    const NestedMap outputs = trivet::test::logits(kLogits, kClasses).to(*device);
    return task->build_losses(batch, outputs, {});
  }

  std::unique_ptr<trivet::Device> device;
  std::unique_ptr<ImageClassification> task;
};

// Six f32 exponentials and logarithms a row.
constexpr double kTolerance = 2e-6;

}  // namespace

TEST_CASE("weights and label smoothing enter the loss by the formula") {
  ImageClassificationConfig config;
  config.label_smoothing = 0.1;
  Fixture f(config);
  const std::vector<float> weights = {1, 0, 0.5F, 2, 0};
  const trivet::WeightedScalar loss = f.loss(weights);
  CHECK(static_cast<double>(loss.value.item()) ==
        Approx(reference(kLogits, kLabels, weights, 0.1)).epsilon(kTolerance));
  CHECK(loss.weight == 3.5);
}

TEST_CASE("a batch of padding alone has loss 0 and weight 0") {
  Fixture f;
  const trivet::WeightedScalar loss = f.loss({0, 0, 0, 0, 0});
  CHECK(loss.value.item() == 0);
  CHECK(loss.weight == 0);
}

TEST_CASE("with more classes than a confusion matrix may have, there is none") {
  const auto device = trivet::test::open_device("tiny/Backend");
  trivet::TaskContext context{*device, {}};
  for (const std::int64_t classes : {2048, 2049}) {
    ImageClassificationConfig config;
    config.num_classes = classes;
    ImageClassification task(config, context);
    trivet::StepOutput step;
    step.batch = trivet::test::labels({1});
    step.outputs =
        trivet::test::logits(std::vector<float>(static_cast<std::size_t>(classes)), classes);
    const auto state = task.aggregate_logs(nullptr, step);
    CHECK((state != nullptr) == (classes == 2048));
  }
}

TEST_CASE("top 1 is the accuracy, and not measured twice") {
  ImageClassificationConfig config;
  config.top_k = 1;
  CHECK(Fixture(config).task->build_metrics(trivet::Phase::evaluation).size() == 1);
}

TEST_CASE("probabilities of the bi-tempered loss are those of its softmax") {
  ImageClassificationConfig config;
  config.loss = trivet::ClassLoss::bi_tempered;
  config.t1 = 0.5;
  config.t2 = 2;
  config.class_names = {"a", "b", "c", "d", "e", "f"};
  const Fixture f(config);
  const Batch batch = trivet::test::labels({0}, {1}).to(*f.device);
  const NestedMap outputs = trivet::test::logits({8, 0, 0, 0, 0, 0}, kClasses).to(*f.device);
  const auto predictions = f.task->predictions(batch, outputs);
  const auto probability = [&](const char* name) {
    return predictions[0].at("probabilities", "test").at(name, "test").as_float();
  };
  // By hand: exp_2(u) = 1 / (1 - u), and lambda = 9 gives 1 / (1 + 9 - 8) + 5 / (1 + 9) = 1/2 +
  // 1/2.
  CHECK(probability("a") == Approx(0.5).epsilon(1e-5));
  CHECK(probability("f") == Approx(0.1).epsilon(1e-5));
  // Of equal probabilities: 2 (1 - 6^-0.5) - (1 - 6^-0.5) / 1.5.
  const auto range = f.task->expected_initial_loss();
  CHECK(range.low == Approx(0.5 * (2 - 2 / 3.0) * (1 - 1 / std::sqrt(6.0))));
}

TEST_CASE("with several labels the metrics and predictions are those of each class") {
  ImageClassificationConfig config;
  config.loss = trivet::ClassLoss::sigmoid;
  config.multi_label = true;
  config.class_names = {"a", "b", "c", "d", "e", "f"};
  const Fixture f(config);
  const Batch batch{{"label", trivet::test::host_tensor<float>({1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1},
                                                               {2, kClasses})},
                    {"weight", trivet::test::host_tensor<float>({1, 3}, {2})}};
  const NestedMap outputs =
      trivet::test::logits({2, -2, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1}, kClasses);
  const auto metrics = f.task->build_metrics(trivet::Phase::evaluation);
  REQUIRE(metrics.size() == 1);
  metrics[0]->update_state(batch, outputs);
  // One class of six is wrong in each: "c" is predicted, and "f" is not. A logit of 0 is a yes.
  CHECK(trivet::test::number(metrics[0]->result(), "binary_accuracy") == Approx(5.0 / 6));
  const auto predictions = f.task->predictions(batch, outputs);
  CHECK(trivet::to_json(predictions[0].at("classes", "test")) == R"(["a","c","d"])");
  CHECK(predictions[1].at("classes", "test").items().empty());
  CHECK(predictions[0].at("probabilities", "test").at("d", "test").as_float() == 0.5);
  CHECK(f.task->aggregate_logs(nullptr, {}) == nullptr);
  CHECK(f.task->expected_initial_loss().reason == "ln(2) = 0.69 for 2 classes");
}

}  // namespace vision_task_test
