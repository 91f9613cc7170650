// SPDX-License-Identifier: Apache-2.0
// The entropy loss against float64, with its gradients, and in the loss of a language model.
#include "lm/metrics/token_entropy.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <catch2/catch.hpp>

#include "lm/models/language_model.h"
#include "lm/tasks/language_modeling.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/task.h"
#include "trivet/testing/gradient_check.h"

namespace token_entropy_test {
namespace {

using namespace trivet;
using namespace trivet::lm;
using Catch::Contains;

// sum_c p_c log p_c of softmax(z), and its derivative p_c (log p_c - that), in double.
struct Entropy {
  explicit Entropy(const std::vector<double>& z) {
    const double largest = *std::max_element(z.begin(), z.end());
    double sum = 0;
    for (const double each : z) sum += std::exp(each - largest);
    std::vector<double> log_p;
    for (const double each : z) log_p.push_back(each - largest - std::log(sum));
    for (const double each : log_p) negative += std::exp(each) * each;
    for (const double each : log_p) slope.push_back(std::exp(each) * (each - negative));
  }
  double negative = 0;
  std::vector<double> slope;
};

struct Case {
  std::int64_t rows, dims, classes;
};

// What negative_entropy of rows h gives with the softmax's weights w [dims, classes].
void check_case(const std::string& backend, const Case& c) {
  test::LayerFixture fixture(
      backend,
      {"nn/FullSoftmax",
       Value::table({{"input_dims", c.dims}, {"num_classes", c.classes}, {"has_bias", false}})});
  const std::vector<float> h = test::random_values(c.rows * c.dims, 5, 2);
  const std::vector<float> w = fixture.values("w");
  std::vector<float> weights;
  for (std::int64_t t = 0; t < c.rows; ++t) {
    weights.push_back(t % 3 == 2 ? 0 : 1.5F - 0.5F * static_cast<float>(t % 2));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double want = 0;
  std::vector<double> want_w(w.size(), 0), want_h(h.size(), 0);
  for (std::int64_t t = 0; t < c.rows; ++t) {
    std::vector<double> z(static_cast<std::size_t>(c.classes), 0);
    const auto at_h = [&](std::int64_t d) { return static_cast<std::size_t>(t * c.dims + d); };
    const auto at_w = [&](std::int64_t d, std::int64_t k) {
      return static_cast<std::size_t>(d * c.classes + k);
    };
    for (std::int64_t k = 0; k < c.classes; ++k) {
      for (std::int64_t d = 0; d < c.dims; ++d) {
        z[static_cast<std::size_t>(k)] += double{h[at_h(d)]} * w[at_w(d, k)];
      }
    }
    const Entropy entropy(z);
    const double share = weights[static_cast<std::size_t>(t)] / total;
    want += share * entropy.negative;
    for (std::int64_t k = 0; k < c.classes; ++k) {
      for (std::int64_t d = 0; d < c.dims; ++d) {
        const double slope = share * entropy.slope[static_cast<std::size_t>(k)];
        want_w[at_w(d, k)] += slope * h[at_h(d)];
        want_h[at_h(d)] += slope * w[at_w(d, k)];
      }
    }
  }
  SoftmaxHead& head = softmax_head(fixture.layer(), "softmax");
  Tape tape;
  GradientSlot slot;
  Tensor got;
  {
    Tape::Recording recording(tape);
    got = negative_entropy(head, make_leaf(fixture.tensor(h, {1, c.rows, c.dims}), slot),
                           fixture.tensor(weights, {1, c.rows}));
  }
  fixture.store().begin_gradients();
  tape.backward(got);
  fixture.store().end_gradients();
  CHECK(got.item() == Approx(want).epsilon(1e-5));
  CHECK(test::largest_error(slot.gradient.to_host<float>(), want_h) < 1e-6);
  CHECK(test::largest_error(fixture.parameter("w").gradient().to_host<float>(), want_w) < 1e-6);
}

}  // namespace

TEST_CASE("the negative entropy of a softmax and its gradients, in float64", "[lm]") {
  test::use_plugin("nn");
  for (const std::string& backend : test::backends()) {
    INFO(backend);
    check_case(backend, {.rows = 5, .dims = 3, .classes = 7});
    check_case(backend, {.rows = 1100, .dims = 2, .classes = 3});  // several chunks
  }
}

TEST_CASE("the gradient of the negative entropy matches differences", "[lm]") {
  test::use_plugin("nn");
  test::LayerFixture fixture(
      test::backends().back(),
      {"nn/FullSoftmax",
       Value::table({{"input_dims", 3}, {"num_classes", 5}, {"soft_cap_logits", 2.0}})});
  SoftmaxHead& head = softmax_head(fixture.layer(), "softmax");
  const Tensor weights = fixture.tensor({1, 0, 2, 1}, {2, 2});
  const Tensor inputs[] = {fixture.tensor(test::random_values(12, 3), {2, 2, 3})};
  CHECK(testing::check_gradients(
            [&](std::span<const Tensor> in) { return negative_entropy(head, in[0], weights); },
            inputs) == "");
  const Tensor none = fixture.tensor({0, 0, 0, 0}, {2, 2});
  CHECK(negative_entropy(head, inputs[0], none).item() == 0);
}

namespace {

// A model with the weight in its config, and the task's loss of one batch.
struct Trained {
  explicit Trained(double weight)
      : device(test::open_device("tiny/Backend")), store(*device, RngKey(7)) {
    for (const char* name : {"nn", "lm", "tokenizers"}) test::use_plugin(name);
    LanguageModelConfig config;
    config.vocab_size = 256;
    config.model_dims = 8;
    config.num_layers = 1;
    config.num_heads = 2;
    config.entropy_loss_weight = weight;
    const ConfigOf<Model> model_config("lm/LanguageModel", encode(config));
    LanguageModelingConfig task_config;
    task_config.tokenizer = "tokenizers/Bytes";
    task_config.model = model_config;
    TaskContext context{*device, {}};
    task = std::make_unique<LanguageModeling>(task_config, context);
    Scope scope(store);
    model = task->build_model(model_config, scope);
    store.build();
  }

  Batch batch() const {
    return {
        {"ids", Tensor::from<std::int32_t>(*device, std::vector<std::int32_t>{1, 2, 3, 4}, {1, 4})},
        {"labels",
         Tensor::from<std::int32_t>(*device, std::vector<std::int32_t>{2, 3, 4, 5}, {1, 4})},
        {"weights", Tensor::from<float>(*device, std::vector<float>{0, 1, 0.5F, 1}, {1, 4})}};
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<LanguageModeling> task;
  std::unique_ptr<Model> model;
};

}  // namespace

TEST_CASE("entropy_loss_weight adds the mean of sum p log p to a language model's loss", "[lm]") {
  Trained plain(0), weighted(0.25);
  FpropContext plain_context;
  const NestedMap without = plain.model->fprop(plain.batch(), plain_context);
  CHECK_FALSE(without.contains("avg_entropy_loss"));
  Batch unlabeled = plain.batch();
  unlabeled.erase("labels");
  FpropContext logits_context;
  const std::vector<float> logits =
      plain.model->fprop(unlabeled, logits_context).at("logits").to_host<float>();
  double want = 0;
  const std::vector<double> weights = {0, 1, 0.5, 1};
  for (std::size_t t = 0; t < 4; ++t) {
    const auto at = logits.begin() + static_cast<std::ptrdiff_t>(256 * t);
    want += weights[t] / 2.5 * Entropy(std::vector<double>(at, at + 256)).negative;
  }
  for (const bool train : {false, true}) {
    FpropContext context;
    context.train = train;
    const NestedMap with = weighted.model->fprop(weighted.batch(), context);
    CHECK(with.at("avg_entropy_loss").item() == Approx(want).epsilon(1e-5));
    CHECK(weighted.task->build_losses(weighted.batch(), with, context).value.item() ==
          Approx(without.at("avg_xent").item() + 0.25 * want).epsilon(1e-5));
  }
  // ln 256 = 5.545; the entropy of untrained weights is near it.
  const auto range = weighted.task->expected_initial_loss();
  CHECK(range.low == Approx(5.545 / 2 - 0.25 * 5.545).epsilon(1e-3));
  CHECK(range.high == Approx(5.545 + 2 - 0.25 * 3.545).epsilon(1e-3));
  CHECK(plain.task->build_metrics(Phase::training).size() == 1);
  CHECK(weighted.task->build_metrics(Phase::training).size() == 2);
}

TEST_CASE("an entropy_loss_weight that is not finite is refused", "[lm]") {
  LanguageModelConfig config;
  config.vocab_size = config.model_dims = config.num_layers = config.num_heads = 2;
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    config.entropy_loss_weight = bad;
    Diagnostics diagnostics;
    config.validate(diagnostics);
    REQUIRE(diagnostics.list().size() == 1);
    CHECK(diagnostics.list()[0].path == "entropy_loss_weight");
  }
}

}  // namespace token_entropy_test
