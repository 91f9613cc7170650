// SPDX-License-Identifier: Apache-2.0
// lm/DualEncoder and lm/Retrieval: embeddings and losses against float64, gradients, ranks by hand.
#include "lm/tasks/retrieval.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "lm/metrics/retrieval_recall.h"
#include "lm/models/dual_encoder.h"
#include "plugins/lm/models/encoder_fixture.h"
#include "trivet/task.h"
#include "trivet/testing/gradient_check.h"
#include "trivet/testing/metric_check.h"

namespace lm_retrieval_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

constexpr std::int32_t kVocabulary = 11;
constexpr std::size_t kDims = 8;

lm::DualEncoderConfig small_config() {
  lm::DualEncoderConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = kDims;
  config.num_layers = 1;
  config.num_heads = 2;
  config.max_seq_len = 12;
  config.type_vocab_size = 2;
  config.embedding_norm_tpl = "nn/LayerNorm";
  return config;
}

using Encoder = EncoderFixture<lm::DualEncoder>;

// pooler(encoder(ids)), in double.
Row reference(const Encoder& fixture, const Tokens& ids, bool is_dense, bool normalize) {
  const Rows h = reference_encoding(fixture, ids, Tokens(ids.size(), 0), 1);
  Row row = h[0];
  if (is_dense) {
    row = affine(Rows{row}, fixture.parameter("pooler/w"), fixture.parameter("pooler/b"))[0];
    for (double& v : row) v = std::tanh(v);
  }
  double squares = 0;
  for (const double v : row) squares += v * v;
  if (normalize) {
    for (double& v : row) v /= std::sqrt(squares);
  }
  return row;
}

struct TaskFixture {
  explicit TaskFixture(const lm::RetrievalConfig& config,
                       const std::string& backend = "tiny/Backend")
      : device(open_device(backend)) {
    TaskContext context{*device, {}};
    task = std::make_unique<lm::Retrieval>(config, context);
  }
  Tensor numbers(const std::vector<float>& values, const Shape& shape) const {
    return Tensor::from<float>(*device, values, shape);
  }
  std::unique_ptr<Device> device;
  std::unique_ptr<lm::Retrieval> task;
};

// The loss of the header, in double.
double loss_of(const std::vector<float>& left, const std::vector<float>& right,
               const std::vector<float>& weights, const lm::RetrievalConfig& config) {
  const std::size_t rows = weights.size(), dims = left.size() / rows;
  const auto logit = [&](std::size_t i, std::size_t j) {
    double product = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      product += static_cast<double>(left[i * dims + d]) * right[j * dims + d];
    }
    return config.logit_scale * (product - (i == j ? config.margin : 0));
  };
  double loss = 0, count = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (weights[i] == 0) continue;
    double across = 0, down = 0;
    for (std::size_t j = 0; j < rows; ++j) {
      if (weights[j] == 0) continue;
      across += std::exp(logit(i, j));
      down += std::exp(logit(j, i));
    }
    loss += std::log(across) - logit(i, i);
    if (config.bidirectional) loss += std::log(down) - logit(i, i);
    ++count;
  }
  return loss / count;
}

}  // namespace

TEST_CASE("embeddings of a dual encoder are their formula in float64", "[lm-retrieval]") {
  const Tokens a = some_tokens(6, 3, kVocabulary), b = some_tokens(6, 4, kVocabulary);
  for (const std::string& backend : backends()) {
    for (const bool is_dense : {true, false}) {
      for (const bool normalize : {true, false}) {
        auto config = small_config();
        config.use_pooler = is_dense;
        config.normalize = normalize;
        Encoder fixture(config, backend);
        const Batch batch = {{"left/ids", fixture.ids(a, {1, 6})},
                             {"right/ids", fixture.ids(b, {1, 6})}};
        CHECK(largest_error(fixture.values(batch, "left"),
                            flattened({{reference(fixture, a, is_dense, normalize)}})) < 1e-5);
        CHECK(largest_error(fixture.values(batch, "right"),
                            flattened({{reference(fixture, b, is_dense, normalize)}})) < 1e-5);
        // A batch of one side is the left one.
        CHECK(fixture.values({{"ids", fixture.ids(a, {1, 6})}}, "left") ==
              fixture.values(batch, "left"));
      }
    }
  }
}

TEST_CASE("the gradients of a dual encoder match central differences", "[lm-retrieval][slow]") {
  Encoder fixture(small_config());
  const Batch batch = {{"left/ids", fixture.ids(some_tokens(6, 6, kVocabulary), {2, 3})},
                       {"right/ids", fixture.ids(some_tokens(6, 7, kVocabulary), {2, 3})}};
  CHECK(fixture.gradient_check(batch, "left") == "");
  CHECK(fixture.gradient_check(batch, "right") == "");
}

TEST_CASE("the loss of pairs is its formula in float64, with gradients", "[lm-retrieval]") {
  const std::vector<float> left = random_values(12, 1), right = random_values(12, 2);
  for (const std::string& backend : backends()) {
    for (const bool bidirectional : {false, true}) {
      for (const std::vector<float>& weights :
           {std::vector<float>{1, 1, 1, 1}, std::vector<float>{1, 0, 1, 1}}) {
        lm::RetrievalConfig config;
        config.logit_scale = 3;
        config.margin = 0.25;
        config.bidirectional = bidirectional;
        const TaskFixture fixture(config, backend);
        const Batch batch{{"weight", fixture.numbers(weights, {4})}};
        const auto loss = [&](std::span<const Tensor> in) {
          return fixture.task->build_losses(batch, {{"left", in[0]}, {"right", in[1]}}, {});
        };
        const Tensor inputs[] = {fixture.numbers(left, {4, 3}), fixture.numbers(right, {4, 3})};
        CHECK(loss(inputs).value.item() ==
              Approx(loss_of(left, right, weights, config)).epsilon(1e-5));
        CHECK(loss(inputs).weight == weights[1] + 3);
        CHECK(testing::check_gradients([&](std::span<const Tensor> in) { return loss(in).value; },
                                       inputs) == "");
      }
    }
  }
}

TEST_CASE("recall counts the pairs whose text is among the best of the batch", "[lm-retrieval]") {
  lm::RetrievalConfig config;
  config.recall_at = {1, 2};
  config.bidirectional = true;
  const TaskFixture fixture(config);
  // Products, a row for each left text: [1 2], [3 3], [0 9] and the padding.
  const Batch batch{{"weight", fixture.numbers({1, 1, 0}, {3})}};
  const NestedMap outputs{{"left", fixture.numbers({1, 0, 0, 3, 0, 0}, {3, 2})},
                          {"right", fixture.numbers({1, 1, 2, 1, 9, 9}, {3, 2})}};
  // l0 = (1, 0) with r0 = (1, 1), r1 = (2, 1): 1, 2: rank 1. l1 = (0, 3): 3, 3: equal, so rank 1.
  // r0 with l0, l1: 1, 3: rank 1. r1: 2, 3: rank 0.
  const Metrics metrics = fixture.task->build_metrics(Phase::evaluation);
  metrics.at(0)->update_state(batch, outputs);
  const Logs logs = metrics[0]->result();
  CHECK(*logs.find("left_recall_at_1") == 0);
  CHECK(*logs.find("left_recall_at_2") == 1);
  CHECK(*logs.find("right_recall_at_1") == 0.5);
  CHECK(*logs.find("right_recall_at_2") == 1);
  const std::vector<Value> rows = fixture.task->predictions(batch, outputs);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0] == Value::table({{"score", 1.0}, {"rank", 2}}));
  CHECK(rows[1] == Value::table({{"score", 3.0}, {"rank", 2}}));
  CHECK(rows[2].is_null());
  const std::vector<Value> alone =
      fixture.task->predictions({}, {{"left", fixture.numbers({0.5, 2}, {1, 2})}});
  CHECK(alone.at(0) == Value::table({{"embedding", Value::array({0.5, 2.0})}}));

  // Numbers that are not are never a hit.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(lm::ranks_of_pairs(fixture.numbers({nan, 1}, {2, 1}), fixture.numbers({1, 1}, {2, 1}),
                           {1, 1}) == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("recall of pairs keeps the promises of metrics", "[lm-retrieval]") {
  const TaskFixture fixture({});
  std::vector<testing::MetricBatch> batches;
  for (const std::int64_t rows : {5, 1, 4}) {
    testing::MetricBatch& each = batches.emplace_back();
    const auto seed = static_cast<std::uint64_t>(rows);
    each.outputs.set("left", fixture.numbers(random_values(rows * 3, seed), {rows, 3}));
    each.outputs.set("right", fixture.numbers(random_values(rows * 3, seed + 9), {rows, 3}));
    each.batch.set("weight",
                   fixture.numbers(std::vector<float>(static_cast<std::size_t>(rows), 1), {rows}));
  }
  CHECK(testing::check_metric(
            [] {
              return std::make_unique<lm::RetrievalRecall>(std::vector<std::int64_t>{1, 2},
                                                           lm::RetrievalRecall::Sides::both);
            },
            batches) == "");
  lm::RetrievalRecall one({1}, lm::RetrievalRecall::Sides::left);
  const lm::RetrievalRecall two({1, 2}, lm::RetrievalRecall::Sides::left);
  CHECK_THROWS_WITH(one.restore_state(two.save_state()), Contains("another number of counts"));
}

TEST_CASE("a pair alone in its batch has nothing to learn from", "[lm-retrieval]") {
  use_plugin("data");
  const TaskFixture fixture({});
  InputContext context{.phase = Phase::training, .name = "task.train_input"};
  const ConfigOf<Input> input("data/TextPairs", Value::table({{"batch_size", 1}}));
  CHECK_THROWS_WITH(fixture.task->build_inputs(input, context),
                    Contains("task.train_input.batch_size") && Contains("2 or more"));
}

TEST_CASE("numbers of texts to find are checked", "[lm-retrieval]") {
  lm::RetrievalConfig config;
  config.recall_at = {1, 0, 1};
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 2);
  CHECK(diagnostics.list()[0].path == "recall_at[1]");
  CHECK(diagnostics.list()[1].path == "recall_at[2]");
}

}  // namespace lm_retrieval_test
