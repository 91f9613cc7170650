// SPDX-License-Identifier: Apache-2.0
// The losses of classifiers against their formulas in double, for each form of labels, on both
// backends.
#include "trivet/train/class_loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/tempered_softmax.h"
#include "trivet/tape.h"
#include "trivet/testing/gradient_check.h"
#include "trivet/train/predictions.h"

namespace class_loss_test {

using namespace trivet;
using Catch::Contains;

namespace {

constexpr std::size_t kRows = 4, kClasses = 3;
const std::vector<float> kLogits = {0.5F, -1, 2, 3, 0, -0.25F, 1, 1, -1.5F, -0.7F, 80, 0.1F};
const std::vector<std::int32_t> kNumbers = {2, 0, 1, 1};
const std::vector<float> kShares = {0.25F, 0, 0.75F, 1, 0, 0, 0.5F, 0.5F, 0, 0, 0.125F, 0.875F};
const std::vector<float> kWeights = {1, 0.5F, 2, 0};
const std::vector<double> kClassWeights = {1, 3, 0.5};

std::vector<double> one_hot() {
  std::vector<double> shares(kRows * kClasses);
  for (std::size_t i = 0; i < kRows; ++i) {
    shares[i * kClasses + static_cast<std::size_t>(kNumbers[i])] = 1;
  }
  return shares;
}

struct Mean {
  double value = 0, weight = 0;
};

// The formulas of the header, term by term.
Mean reference(const std::vector<double>& labels, const ClassLossOptions& options) {
  const double s = static_cast<double>(options.label_smoothing);
  Mean mean;
  for (std::size_t i = 0; i < kRows; ++i) {
    double sum = 0, class_weight = options.class_weights.empty() ? 1 : 0, loss = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      sum += std::exp(static_cast<double>(kLogits[i * kClasses + c]));
    }
    for (std::size_t c = 0; c < kClasses; ++c) {
      const auto x = static_cast<double>(kLogits[i * kClasses + c]);
      const double p = labels[i * kClasses + c];
      const double v = options.class_weights.empty() ? 1 : options.class_weights[c];
      if (!options.class_weights.empty()) class_weight += v * p;
      if (options.loss == ClassLoss::softmax) {
        loss -= ((1 - s) * p + s / kClasses) * (x - std::log(sum));
      } else {
        const double target = (1 - s) * p + s / 2, q = 1 / (1 + std::exp(-x));
        const double term = -target * std::log(q) - (1 - target) * std::log(1 / (1 + std::exp(x)));
        loss += (options.multi_label ? v : 1) * term / kClasses;
      }
    }
    const double weight =
        static_cast<double>(kWeights[i]) * (options.multi_label ? 1 : class_weight);
    mean.value += weight * loss;
    mean.weight += weight;
  }
  mean.value /= mean.weight;
  return mean;
}

Batch batch_on(Device& device, bool dense) {
  return {{"label", dense ? Tensor::from<float>(device, kShares, {kRows, kClasses})
                          : Tensor::from<std::int32_t>(device, kNumbers, {kRows})},
          {"weight", Tensor::from<float>(device, kWeights, {kRows})}};
}

void check(const ClassLossOptions& options, bool dense) {
  CAPTURE(static_cast<int>(options.loss), options.multi_label, options.label_smoothing, dense,
          options.class_weights.size());
  const std::vector<double> labels =
      dense ? std::vector<double>(kShares.begin(), kShares.end()) : one_hot();
  const Mean expected = reference(labels, options);
  for (const std::string& backend : test::backends()) {
    const auto device = test::open_device(backend);
    const Batch batch = batch_on(*device, dense);
    const Tensor logits = Tensor::from<float>(*device, kLogits, {kRows, kClasses});
    const WeightedScalar got = class_loss(batch, logits, options, "test");
    CHECK(static_cast<double>(got.value.item()) == Approx(expected.value).epsilon(2e-6));
    CHECK(got.weight == Approx(expected.weight));
    const auto loss = [&](std::span<const Tensor> in) {
      return class_loss(batch, in[0], options, "test").value;
    };
    const Tensor inputs[] = {logits};
    CHECK(testing::check_gradients(loss, inputs) == "");
  }
}

std::string refusal(const Batch& batch, const Tensor& logits, const ClassLossOptions& options) {
  try {
    class_loss(batch, logits, options, "the task");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("every loss, label and weight is that of the formula, and its gradient") {
  for (const float smoothing : {0.0F, 0.1F}) {
    for (const std::span<const double> weights :
         {std::span<const double>(), std::span<const double>(kClassWeights)}) {
      for (const ClassLoss loss : {ClassLoss::softmax, ClassLoss::sigmoid}) {
        for (const bool dense : {false, true}) check({loss, false, smoothing, weights}, dense);
      }
      check({ClassLoss::sigmoid, true, smoothing, weights}, true);
    }
  }
}

namespace {

double log_t(double u, double t) {
  return t == 1 ? std::log(u) : (std::pow(u, 1 - t) - 1) / (1 - t);
}

// The tempered softmax of a row, by bisection of its normalizer.
std::vector<double> tempered_softmax(std::span<const float> x, double t) {
  const auto p_of = [&](double lambda) {
    std::vector<double> p;
    for (const float value : x) {
      const double u = static_cast<double>(value) - lambda;
      p.push_back(t == 1 ? std::exp(u) : std::pow(1 + (1 - t) * u, 1 / (1 - t)));
    }
    return p;
  };
  double low = static_cast<double>(*std::ranges::max_element(x)), high = low + 1e6;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    const std::vector<double> p = p_of(middle);
    (std::accumulate(p.begin(), p.end(), 0.0) > 1 ? low : high) = middle;
  }
  return p_of(low);
}

}  // namespace

TEST_CASE("the tempered softmax is that of its definition, and its gradient") {
  // By hand, t = 2: exp_2(u) = 1 / (1 - u); of x = (0, 0) lambda = 1, of (0, 1.5) lambda = 2: 1/3
  // and 2/3.
  const std::vector<float> hand = {0, 0, 0, 1.5F};
  const double t = GENERATE(1.0, 1.2, 1.5, 2.0, 4.0);
  for (const std::string& backend : test::backends()) {
    const auto device = test::open_device(backend);
    if (t == 2) {
      const Tensor log_p = ops::tempered_log_softmax(Tensor::from<float>(*device, hand, {2, 2}), 2);
      const std::vector<float> p = ops::exp(log_p).to_host<float>();
      CHECK(p[0] == Approx(0.5));
      CHECK(p[2] == Approx(1.0 / 3));
      CHECK(p[3] == Approx(2.0 / 3));
    }
    const Tensor logits = Tensor::from<float>(*device, kLogits, {kRows, kClasses});
    const std::vector<float> log_p = ops::tempered_log_softmax(logits, t).to_host<float>();
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto expected = tempered_softmax({kLogits.data() + row * kClasses, kClasses}, t);
      for (std::size_t c = 0; c < kClasses; ++c) {
        CHECK(static_cast<double>(log_p[row * kClasses + c]) ==
              Approx(std::log(expected[c])).epsilon(1e-5).margin(1e-5));
      }
    }
    const Tensor inputs[] = {Tensor::from<float>(*device, {kLogits.data(), 9}, {3, kClasses})};
    const auto some = [&](std::span<const Tensor> in) {
      const Tensor log_q = ops::tempered_log_softmax(in[0], t);
      return ops::sum(ops::mul(log_q, ops::sin(log_q)));
    };
    CHECK(testing::check_gradients(some, inputs) == "");
  }
}

TEST_CASE("the bi-tempered loss is that of its formula, and its gradient") {
  const double t1 = GENERATE(0.0, 0.5, 0.8, 1.0), t2 = GENERATE(1.0, 1.4, 2.0);
  const float smoothing = GENERATE(0.0F, 0.1F);
  const bool dense = GENERATE(false, true);
  CAPTURE(t1, t2, smoothing, dense);
  const std::vector<double> labels =
      dense ? std::vector<double>(kShares.begin(), kShares.end()) : one_hot();
  double expected = 0, weights = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto q = tempered_softmax({kLogits.data() + i * kClasses, kClasses}, t2);
    double loss = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double s = static_cast<double>(smoothing);
      const double p = (1 - s) * labels[i * kClasses + c] + s / kClasses;
      if (p > 0) loss += p * (log_t(p, t1) - log_t(q[c], t1));
      loss -= (std::pow(p, 2 - t1) - std::pow(q[c], 2 - t1)) / (2 - t1);
    }
    expected += static_cast<double>(kWeights[i]) * loss;
    weights += static_cast<double>(kWeights[i]);
  }
  const ClassLossOptions options{
      .loss = ClassLoss::bi_tempered, .label_smoothing = smoothing, .t1 = t1, .t2 = t2};
  for (const std::string& backend : test::backends()) {
    const auto device = test::open_device(backend);
    const Batch batch = batch_on(*device, dense);
    const Tensor logits = Tensor::from<float>(*device, kLogits, {kRows, kClasses});
    const WeightedScalar got = class_loss(batch, logits, options, "test");
    CHECK(static_cast<double>(got.value.item()) ==
          Approx(expected / weights).epsilon(1e-5).margin(1e-6));
    const auto loss = [&](std::span<const Tensor> in) {
      return class_loss(batch, in[0], options, "test").value;
    };
    const Tensor inputs[] = {logits};
    CHECK(testing::check_gradients(loss, inputs) == "");
  }
}

TEST_CASE("the bi-tempered loss of a label that is far off has a bound") {
  // With t1 = 0.5 the loss of a hard label is at most 1/(1 - t1) - 1/(2 - t1) (q_label = 0) plus
  // the largest mass, 1/(2 - t1): 2. A softmax's cross entropy is about 1000 here.
  const auto device = test::open_device("tiny/Backend");
  const std::vector<float> logits = {1000, 0};
  const std::vector<std::int32_t> labels = {1};
  const Batch batch{{"label", Tensor::from<std::int32_t>(*device, labels, {1})}};
  const Tensor x = Tensor::from<float>(*device, logits, {1, 2});
  const auto loss = [&](double t1, double t2) {
    const ClassLossOptions options{.loss = ClassLoss::bi_tempered, .t1 = t1, .t2 = t2};
    return static_cast<double>(class_loss(batch, x, options, "test").value.item());
  };
  CHECK(loss(1, 1) == Approx(1000));
  CHECK(loss(0.5, 2) < 2);
  CHECK(loss(0.5, 2) > 1.5);
  CHECK_THROWS_WITH(ops::tempered_log_softmax(x, 0.9), Contains("at least 1"));
  CHECK_THROWS_WITH(ops::tempered_log_softmax(Tensor::zeros(*device, {2}), 2),
                    Contains("[rows, classes]"));
}

TEST_CASE("class weights give PyTorch's weighted cross entropy") {
  // CrossEntropyLoss(weight=[1, 3]) of logits 0 0 and labels 0 1: (1 ln 2 + 3 ln 2) / 4; and of
  // logits [ln 3, 0], label 1: ln 4 whatever the weight.
  const auto device = test::open_device("tiny/Backend");
  const std::vector<double> weights = {1, 3};
  const std::vector<float> logits = {0, 0, std::log(3.0F), 0};
  const std::vector<std::int32_t> labels = {0, 1};
  const Batch batch{{"label", Tensor::from<std::int32_t>(*device, labels, {2})}};
  const WeightedScalar mean = class_loss(batch, Tensor::from<float>(*device, logits, {2, 2}),
                                         {.class_weights = weights}, "test");
  CHECK(static_cast<double>(mean.value.item()) ==
        Approx((std::log(2.0) + 3 * std::log(4.0)) / 4).epsilon(1e-6));
  CHECK(mean.weight == 4);
}

TEST_CASE("a label without weight and one below 0 leave the loss of the others") {
  const auto device = test::open_device("tiny/Backend");
  const std::vector<double> weights = {2, 0};
  const std::vector<float> logits = {0, 0, 5, 1, 0, 7};
  const std::vector<std::int32_t> labels = {0, 1, -1};
  const Batch batch{{"label", Tensor::from<std::int32_t>(*device, labels, {3})}};
  const WeightedScalar mean = class_loss(batch, Tensor::from<float>(*device, logits, {3, 2}),
                                         {.class_weights = weights}, "test");
  CHECK(static_cast<double>(mean.value.item()) == Approx(std::log(2.0)));
  CHECK(mean.weight == 2);
}

TEST_CASE("labels and weights that do not fit are refused by name") {
  const auto device = test::open_device("tiny/Backend");
  const Tensor logits = Tensor::from<float>(*device, kLogits, {kRows, kClasses});
  CHECK_THAT(refusal(batch_on(*device, false), logits, {ClassLoss::sigmoid, true}),
             Contains("the task: several labels need label f32 [4, 3]"));
  CHECK_THAT(refusal(batch_on(*device, true), Tensor::zeros(*device, {kRows, 2}), {}),
             Contains("expected label i32 [B] or f32 [B, classes]"));
  const std::vector<double> two = {1, 2};
  CHECK_THAT(refusal(batch_on(*device, true), logits, {.class_weights = two}),
             Contains("2 class weights for 3 classes"));
  const std::vector<std::int32_t> large = {0, 1, 2, 3};
  const Batch beyond{{"label", Tensor::from<std::int32_t>(*device, large, {kRows})}};
  CHECK_THAT(refusal(beyond, logits, {.loss = ClassLoss::sigmoid}),
             Contains("label 3 of 3 classes"));
}

TEST_CASE("predictions of soft labels have the class of the largest share") {
  const auto device = test::open_device("tiny/Backend");
  const Tensor logits = Tensor::from<float>(*device, kLogits, {kRows, kClasses});
  const Predictions predictions(batch_on(*device, true), NestedMap{{"logits", logits}});
  CHECK(predictions.label(0) == 2);
  CHECK(predictions.label(2) == 0);
  CHECK(predictions.share(3, 2) == 0.875F);
  CHECK(predictions.rank_of_label(0) == 0);
  const Predictions numbers(batch_on(*device, false), NestedMap{{"logits", logits}});
  CHECK(numbers.share(0, 2) == 1);
  CHECK(numbers.share(0, 1) == 0);
}

}  // namespace class_loss_test
